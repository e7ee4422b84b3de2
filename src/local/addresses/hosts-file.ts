import { isIPv4 } from 'node:net'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import type { LocalHost } from '../folder/cluster-file.ts'
import { readYaml } from '../files/yaml-file.ts'

const word = Type.String({ minLength: 1, maxLength: 4096 })
const hostsSchema = Type.Array(
  Type.Object(
    {
      address: Type.String({ minLength: 1, maxLength: 15 }),
      wrapper: Type.Optional(Type.Union([word, Type.Array(word, { minItems: 1, maxItems: 64 })])),
    },
    { additionalProperties: false },
  ),
  { minItems: 1, maxItems: 16 },
)

/**
 * Reads --hosts: a YAML list of `{address, wrapper?}`, the first for ordinal 0. The wrapper is a command, as a list of
 * words or as a text split at white space, that must exec what it is given (`ip netns exec shop0` does).
 * Throws `REGENT_BAD_FILE`.
 */
export async function readHosts(path: string, instances: number): Promise<LocalHost[]> {
  const value = await readYaml(path, say`the file given with --hosts`)
  const refuse = (why: Sayable) => new RegentError('REGENT_BAD_FILE', say`the file given with --hosts, ${path}: ${why}`)
  if (!Array.isArray(value)) throw refuse(say`the top level must be a list of {address, wrapper}`)
  if (value.length === 0 || value.length > 16) throw refuse(say`it lists ${value.length} hosts; allowed are 1 to 16`)
  if (!Value.Check(hostsSchema, value))
    throw refuse(complaintAbout(hostsSchema, value) ?? say`each entry must be {address, wrapper}`)
  if (value.length < instances) throw refuse(say`it lists ${value.length} hosts, too few for --instances ${instances}`)
  const hosts = value.map((host) => ({ address: host.address, wrapper: wordsOf(host.wrapper) }))
  const wrong = hosts.find((host) => !isIPv4(host.address))
  if (wrong !== undefined) throw refuse(say`"${wrong.address}" is no IPv4 address`)
  const twice = hosts.find((host, at) => hosts.findIndex((other) => other.address === host.address) < at)
  if (twice !== undefined)
    throw refuse(say`${twice.address} is listed twice; every instance needs an address of its own`)
  return hosts
}

function wordsOf(wrapper: string | string[] | undefined): string[] {
  return typeof wrapper === 'string' ? wrapper.split(/\s+/).filter((part) => part !== '') : (wrapper ?? [])
}
