import { Value } from 'typebox/value'
import { whyBadTarget } from '#backup/restore/restore-target.ts'
import { complaintAboutBackup, complaintAboutStore } from '#backup/transfer/open-backup-store.ts'
import { clusterSpecSchema, whyNotInMode, whyTooMany, type ClusterSpec } from '#failover/protocol/spec.ts'
import { instancePolicySchema } from '#failover/protocol/instance-policy.ts'
import { instanceName, isInstanceOf } from '#topology/snapshot/member.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { counted, say, type Sayable, type Sentence, reported } from '#common/sentence/sentence.ts'
import { readTokenFile } from '#common/http/bearer-token.ts'
import { complaintAboutHooks, hooksAt } from '#failover/protocol/hook.ts'
import { momentNames } from '#failover/protocol/hook-moments.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { replaceJson } from '../files/durable-file.ts'
import { refuseNewer } from '../files/file-version.ts'
import { readJson } from '../files/input-file.ts'
import type { StateLayout } from './state-layout.ts'
import { readYaml } from '../files/yaml-file.ts'

const specVersion = 1

/** What options of the command line say about the spec; undefined = not said. They win over the file. */
export type SpecOptions = { readonly [Field in keyof ClusterSpec]?: ClusterSpec[Field] | undefined }

/**
 * The spec of cluster `name`: the file given with --config (YAML) where there is one, options over it, defaults below.
 * Between file and defaults lies `base`, key by key; a list of the file replaces a list of `base`.
 * Throws `REGENT_BAD_FILE` with the path in the file, the value and what is allowed.
 */
export async function composeSpec(
  name: string,
  configFile: string | undefined,
  options: SpecOptions,
  base: object = {},
): Promise<ClusterSpec> {
  const fromFile = configFile === undefined ? {} : await readYaml(configFile, say`the file given with --config`)
  const where = configFile === undefined ? 'the options' : `the file given with --config, ${configFile}`
  if (!isMapping(fromFile)) throw bad(where, say`the top level must be a mapping`)
  refuseNewer(where, fromFile, specVersion)
  const said = Object.fromEntries(
    Object.keys(clusterSpecSchema.properties).flatMap((key) =>
      options[key as keyof ClusterSpec] === undefined ? [] : [[key, options[key as keyof ClusterSpec]]],
    ),
  )
  const spec = checkSpec(where, name, { ...laidOver({ ...base }, fromFile), ...said })
  if (spec.acks !== null && spec.acks > spec.instances - 1) {
    const all = counted(spec.instances, 'instance')
    const most = spec.instances - 1
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`acks is ${spec.acks} (--acks, or acks in --config); ${all} can have ${counted(most, 'replica')}, so allowed is 0 to ${most}`,
    )
  }
  const contradiction = contradictionIn(name, spec)
  if (contradiction !== undefined) throw bad(where, contradiction)
  await checkHookSecrets(where, spec)
  return spec
}

type Mapping = Readonly<Record<string, unknown>>

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function laidOver(base: Mapping, said: Mapping): Mapping {
  const over = Object.entries(said).map(([key, value]) => {
    const below = Object.hasOwn(base, key) ? base[key] : undefined
    return [key, isMapping(below) && isMapping(value) ? laidOver(below, value) : value]
  })
  return { ...base, ...(Object.fromEntries(over) as Mapping) }
}

/**
 * The manager reads them again each time; without one nothing is sent. Throws `REGENT_BAD_FILE` where one cannot be
 * read.
 */
export async function checkHookSecrets(where: Sayable, { hooks }: Pick<ClusterSpec, 'hooks'>): Promise<void> {
  for (const moment of momentNames)
    for (const [at, { webhook }] of hooksAt(hooks, moment).entries())
      if (webhook?.secretFile !== undefined)
        await readTokenFile(webhook.secretFile).catch((error: unknown) => {
          throw bad(where, say`hooks.${moment}.${at}.webhook.secretFile: ${described(error)}`)
        })
}

/**
 * What each field allows for itself and all of them together do not. Asked of what a person says now, and not of what a
 * cluster runs with already.
 */
function contradictionIn(name: string, spec: ClusterSpec): Sentence | undefined {
  const { switchover, policies, instances } = spec
  const ofMode = whyTooMany(spec, instances) ?? whyNotInMode(spec)
  if (ofMode !== undefined) return say`${reported(ofMode)}`
  const { graceMs, timeoutMs } = switchover
  const undone = say`a switchover with a statement that runs would be undone before its grace ends`
  if (graceMs > timeoutMs)
    return say`switchover.graceMs is ${graceMs} and switchover.timeoutMs is ${timeoutMs}: ${undone}; allowed is up to timeoutMs`
  const aboutHooks = complaintAboutHooks(spec.hooks, 'secretFile')
  if (aboutHooks !== undefined) return say`${reported(aboutHooks)}`
  const aboutBackups = contradictionInBackups(spec)
  if (aboutBackups !== undefined) return aboutBackups
  const all = Array.from({ length: instances }, (_, ordinal) => instanceName(name, ordinal))
  if (all.every((instance) => policies[instance]?.promotion === 'never'))
    return say`policies say promotion: never for each of ${all.join(', ')}: none of them could ever be primary; leave one of them out`
  return undefined
}

function contradictionInBackups({ backup, restore }: ClusterSpec): Sentence | undefined {
  const complaint = backup && complaintAboutBackup(backup)
  if (complaint !== undefined) return complaint
  const aboutStore = restore && complaintAboutStore(restore.store)
  if (aboutStore !== undefined) return say`the store of backups cannot be opened: ${aboutStore}`
  const aboutTarget = restore === undefined ? '' : whyBadTarget(restore)
  return aboutTarget === '' ? undefined : say`restore cannot be done: ${aboutTarget}`
}

export async function writeSpec(layout: StateLayout, spec: ClusterSpec): Promise<void> {
  await replaceJson(layout.spec, spec)
}

/** The spec a cluster runs with. Throws `REGENT_BAD_FILE` or `REGENT_NEWER_VERSION`. */
export async function readSpec(layout: StateLayout, name: string): Promise<ClusterSpec> {
  const value = await readJson(layout.spec, say`the spec of cluster ${name}`)
  refuseNewer(layout.spec, value, specVersion)
  return checkSpec(layout.spec, name, value)
}

function checkSpec(where: Sayable, name: string, value: unknown): ClusterSpec {
  const spec = withDefaults(value)
  if (!Value.Check(clusterSpecSchema, spec))
    throw bad(where, complaintAbout(clusterSpecSchema, spec) ?? say`does not have the expected shape`)
  const stranger = Object.keys(spec.policies).find((instance) => !isInstanceOf(name, instance))
  if (stranger !== undefined)
    throw bad(
      where,
      say`policies has the key "${stranger.slice(0, 60)}"; allowed are the instances ${name}-0 to ${name}-15`,
    )
  return spec
}

/** typebox fills in what is missing, but not below the keys of a record. */
function withDefaults(value: unknown): unknown {
  const spec: unknown = Value.Default(clusterSpecSchema, Value.Clone(value))
  const policies = typeof spec === 'object' && spec !== null && 'policies' in spec ? spec.policies : undefined
  for (const policy of Object.values(policies ?? {})) Value.Default(instancePolicySchema, policy)
  return spec
}

function bad(where: Sayable, why: Sayable): RegentError {
  return new RegentError('REGENT_BAD_FILE', say`${where}: ${why}`)
}
