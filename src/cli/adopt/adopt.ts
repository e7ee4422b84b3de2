import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  adoptedFolder,
  keepAdoption,
  managedNames,
  prepareFolder,
  secretsPutBack,
  type AdoptedFolder,
} from '#adopt/adopted-folder.ts'
import { addressText, parseHostAddress, type HostAddress } from '#adopt/host-address.ts'
import { readAdoption, type Adoption } from '#adopt/adoption.ts'
import { discover } from '#adopt/origin/discover.ts'
import { readMha } from '#adopt/origin/mha.ts'
import { readOrchestrator } from '#adopt/origin/orchestrator.ts'
import type { OrchestratorServed } from '#adopt/orchestrator-file.ts'
import { checkServers, missingSources, topologyOf, type Checked } from '#adopt/watch/check.ts'
import { needsFor, needsOf } from '#adopt/watch/needs.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { allClusters } from '#local/clusters/cluster-index.ts'
import { renderTopology } from '../commands/views/topology-tree.ts'
import { missingSections, section } from '../commands/views/explanation.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import { paintFor } from '../terminal/paint.ts'
import type { AdoptOptions } from './adopt-options.ts'
import { refuseOtherPort, startWatchingAnew } from './background.ts'
import { interfaceSaid, keepInterface } from './interface.ts'

/** Looks at the servers, says what is found and missing, and has them watched unless only a check was asked for. */
export async function adopt(
  io: Io,
  file: string | undefined,
  options: AdoptOptions,
  { check = checkServers } = {},
): Promise<void> {
  // A check keeps nothing, not even the passwords of a file of MHA.
  if (options.check !== true) return adoptForGood(io, file, options, check)
  const draft = await mkdtemp(join(tmpdir(), 'regent-adopt-check-'))
  try {
    await adoptInto(io, file, options, { folder: adoptedFolder(draft), check, adopted: () => undefined })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** A cluster of that name that is watched already goes on logging in as before where the new file is refused. */
async function adoptForGood(
  io: Io,
  file: string | undefined,
  options: AdoptOptions,
  check: typeof checkServers,
): Promise<void> {
  const folder = adoptedFolder()
  const putBack = await secretsPutBack(folder)
  let isAdopted = false
  try {
    await adoptInto(io, file, options, { folder, check, adopted: () => void (isAdopted = true) })
  } catch (error) {
    if (!isAdopted) await putBack()
    throw error
  }
}

interface Adopting {
  readonly folder: AdoptedFolder
  readonly check: typeof checkServers
  /** Is called once the adoption is kept. */
  readonly adopted: () => void
}

async function adoptInto(
  io: Io,
  file: string | undefined,
  options: AdoptOptions,
  { folder, check, adopted }: Adopting,
): Promise<void> {
  const { adoption, served } = await adoptionOf(io, folder, file, options)
  const checked = await check(adoption)
  const isJson = options.output === 'json'
  if (!isJson) for (const line of report(io, adoption, checked)) io.out(line)
  if (checked.refusals.length > 0) throw refused(adoption, checked, isJson)
  if (options.check === true) {
    if (isJson) io.out(toJson(asJson(adoption, checked)))
    return
  }
  await refuseNameOfLocal(adoption.cluster)
  // A command that is refused has adopted nothing.
  await refuseOtherPort(options.port)
  const door = await interfaceSaid(options, served)
  await prepareFolder(folder)
  await keepAdoption(folder, adoption)
  adopted()
  await keepInterface(io, door, options)
  const { cluster } = adoption
  const { host, port } = await startWatchingAnew(io, cluster, options.port)
  const sentence = `${cluster} is watched from now on (API on ${host}:${port}); nothing of it is changed`
  if (isJson) return io.out(toJson({ ...asJson(adoption, checked), sentence }))
  io.out('')
  io.out(sentence)
  io.out(`  regent topology ${cluster}      how it is`)
  io.out(`  regent explain ${cluster}       why, and what is missing before Regent can manage it`)
  io.out(`  regent adopt remove ${cluster}  watch it no more`)
}

/** Commands find a cluster by its name. */
async function refuseNameOfLocal(name: string): Promise<void> {
  if ((await managedNames()).has(name))
    throw new RegentError('REGENT_REFUSED', say`${name} is managed already, and nobody watches it meanwhile`, {
      remedy: `Look at it: regent topology ${name}. Back to watching: regent adopt watch ${name}`,
    })
  const all = await allClusters(() => undefined)
  if (all.some(({ cluster }) => cluster.name === name))
    throw new RegentError('REGENT_REFUSED', say`a cluster ${name} runs on this machine already: choose another name`, {
      remedy: 'Write another name into the file, or give --name.',
    })
}

interface Origin {
  readonly adoption: Adoption
  /** How orchestrator’s interface was served, where its file says. */
  readonly served?: OrchestratorServed | undefined
}

async function adoptionOf(
  io: Io,
  folder: AdoptedFolder,
  file: string | undefined,
  options: AdoptOptions,
): Promise<Origin> {
  const { mha, from, orchestrator } = options
  const said = [file, mha, orchestrator ?? from].filter((one) => one !== undefined)
  if (said.length !== 1)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`give one of: a file, --mha with MHA’s file, --from with one address, --orchestrator with orchestrator’s file`,
    )
  if (orchestrator !== undefined) return readOrchestratorFile(io, folder, orchestrator, options)
  if (file !== undefined) return { adoption: await readAdoption(file) }
  if (mha !== undefined) return { adoption: await readMhaFile(io, folder, mha, options) }
  return { adoption: await discoverFrom(io, addressIn(from ?? ''), options) }
}

async function readOrchestratorFile(
  io: Io,
  folder: AdoptedFolder,
  file: string,
  { from, name, output }: AdoptOptions,
): Promise<Origin> {
  if (name === undefined) throw new RegentError('REGENT_BAD_REQUEST', say`--orchestrator needs --name for the cluster`)
  const read = await readOrchestrator(file, { cluster: name, folder })
  if (output !== 'json') for (const line of read.lines) io.out(line)
  const start = from === undefined ? read.seeds[0] : addressIn(/:\d+$/.test(from) ? from : `${from}:${read.port}`)
  if (start === undefined)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`${file} names no server (DiscoverySeeds): give one of them by --from`,
    )
  const found = await discover(start, { cluster: name, mysql: read.mysql, tell: (line) => io.note(line) })
  return { adoption: read.applied(found), served: read.served }
}

async function readMhaFile(
  io: Io,
  folder: AdoptedFolder,
  mha: string,
  { mhaGlobal, name, output }: AdoptOptions,
): Promise<Adoption> {
  const { adoption, lines } = await readMha(mha, { global: mhaGlobal, name, folder })
  if (output !== 'json') for (const line of lines) io.out(line)
  return adoption
}

async function discoverFrom(io: Io, address: HostAddress, options: AdoptOptions): Promise<Adoption> {
  const { name, user, passwordFile } = options
  if (name === undefined || user === undefined || passwordFile === undefined)
    throw new RegentError('REGENT_BAD_REQUEST', say`--from needs --name for the cluster, --user and --password-file`)
  return discover(address, { cluster: name, mysql: { user, passwordFile }, tell: (line) => io.note(line) })
}

function addressIn(text: string): HostAddress {
  const address = parseHostAddress(text)
  if (address !== undefined) return address
  throw new RegentError(
    'REGENT_BAD_REQUEST',
    say`--from is "${text.slice(0, 60)}"; allowed is <host> or <host>:<port>, an IPv6 address in brackets: [::1]:3306`,
  )
}

function asJson(adoption: Adoption, checked: Checked) {
  const { name, primary, writable, sentence, problems, instances, tree } = topologyOf(adoption, checked)
  return {
    ...{ name, primary, writable, sentence, problems, instances, tree },
    ...{ refusals: checked.refusals, missing: needsFor(adoption, checked.looks), adoption },
  }
}

function report(io: Io, adoption: Adoption, checked: Checked): readonly string[] {
  const outside = missingSources(checked.looks).map(
    (line) => `${line}, which is not in the file: is it to be adopted, too?`,
  )
  return [
    ...renderTopology(topologyOf(adoption, checked), paintFor(io.colour)),
    ...section('outside of the file', outside),
    ...missingSections(needsOf(adoption, checked.looks)),
  ]
}

export function refused({ cluster, hosts }: Adoption, { refusals }: Checked, isJson: boolean): RegentError {
  const first = hosts[0] === undefined ? '' : addressText(hosts[0])
  const what = isJson || refusals.length === 1 ? refusals.join('; ') : refusals.map((one) => `\n  ${one}`).join('')
  return new RegentError('REGENT_REFUSED', say`${cluster} (${first} …) is not adopted: ${what}`, {
    remedy: 'Correct the file, or the server that the message names; then adopt again.',
  })
}
