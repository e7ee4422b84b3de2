import { isDeepStrictEqual } from 'node:util'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import { RegentError } from '#common/errors/errors.ts'
import { command, counted, say, type Sentence } from '#common/sentence/sentence.ts'
import type { FoundCluster } from '#local/clusters/cluster-index.ts'
import type { LocalCluster } from '#local/folder/cluster-file.ts'
import { readHosts } from '#local/addresses/hosts-file.ts'
import { readYaml } from '#local/files/yaml-file.ts'
import { readSpec } from '#local/folder/spec-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { parseRedisAddress } from '#store/redis-address.ts'
import { askedSpec, changedKeys } from './asked-spec.ts'
import type { UpOptions } from './up-options.ts'

/**
 * Refuses options of `up` that contradict a cluster that exists: a second `up` never changes silently what the first
 * one made. Throws `REGENT_ALREADY_RUNNING` for one that is up, `REGENT_REFUSED` for one that is down.
 */
export async function refuseChanges(found: FoundCluster, options: UpOptions, isUp: boolean): Promise<void> {
  const { name } = found.cluster
  const change =
    shapeChange(found, options) ??
    (await hostsChange(found, options)) ??
    (await modeChange(found, options)) ??
    (isUp ? await settingChange(found, options) : undefined)
  if (change !== undefined)
    throw new RegentError(
      isUp ? 'REGENT_ALREADY_RUNNING' : 'REGENT_REFUSED',
      say`${name} ${isUp ? say`is up` : say`exists already`} ${change}`,
    )
}

/** What only a new cluster can have otherwise. */
function shapeChange({ cluster }: FoundCluster, options: UpOptions): Sentence | undefined {
  const count = cluster.instances.length
  if (options.instances !== undefined && options.instances !== count)
    return say`with ${counted(count, 'instance')}, not ${options.instances}; "${command('scale', cluster.name, String(options.instances))}" changes that once it is up`
  if (options.store !== undefined && placeOf(options.store) !== placeOf(cluster.store))
    return say`with its record in another store than --store names; a record does not move`
  if (options.restore !== undefined)
    return say`and nothing is restored over data; choose another name for the new cluster`
  return undefined
}

/** Without the login, which may change. */
function placeOf(store: string): string {
  return store === 'file' ? store : parseRedisAddress(store).shown
}

async function hostsChange({ cluster }: FoundCluster, options: UpOptions): Promise<Sentence | undefined> {
  if (options.hosts === undefined || isDeepStrictEqual(await readHosts(options.hosts, 1), cluster.hosts))
    return undefined
  return say`with other addresses than --hosts names; instances do not move`
}

/** How data is replicated is decided once: what one mode has acknowledged the other does not know of. */
async function modeChange({ dir, cluster }: FoundCluster, options: UpOptions): Promise<Sentence | undefined> {
  const { mode } = await readSpec(layoutOf(dir), cluster.name)
  const asked = options.mode ?? (await modeIn(options.config))
  return asked === undefined || asked === mode
    ? undefined
    : say`in mode ${mode}, not ${asked}; a mode cannot change, make a new cluster and load the data into it`
}

/** What else such a file says is checked where the file is used. */
async function modeIn(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  const said: unknown = await readYaml(file, say`the file given with --config`)
  const mode = typeof said === 'object' && said !== null && 'mode' in said ? said.mode : undefined
  return typeof mode === 'string' ? mode : undefined
}

/** What takes effect when the processes start. */
async function settingChange({ dir, cluster }: FoundCluster, options: UpOptions): Promise<Sentence | undefined> {
  const spec = await readSpec(layoutOf(dir), cluster.name)
  const { store, port, durability, acks, config } = options
  const asked = config === undefined ? spec : await askedSpec({ dir, cluster }, options)
  const onlyAtStart = changedKeys(spec, asked).filter((key) => key !== 'group' && key !== 'hooks')
  const loginChanges = store !== undefined && hasLogin(store) && store !== cluster.store
  const changes: readonly (readonly [boolean, Sentence])[] = [
    [loginChanges, say`with another login for its store`],
    ...orchestratorChanges(cluster, options),
    [differs(port, cluster.api.port), say`with its API on port ${cluster.api.port}, not ${port}`],
    [differs(durability, spec.durability), say`with durability ${spec.durability}, not ${durability}`],
    [
      differs(acks, spec.acks),
      say`with ${spec.acks === null ? say`the default number of acknowledgements` : counted(spec.acks, 'acknowledgement')}, not ${acks}`,
    ],
    [
      options.routerConfig !== undefined || differs(options.router, cluster.router !== undefined),
      cluster.router === undefined ? say`without a router` : say`with a router, and keeps it as it is`,
    ],
    [
      onlyAtStart.length > 0,
      say`so --config would have no effect, but for group.consistency and hooks; the file changes ${onlyAtStart.join(', ')}`,
    ],
  ]
  const change = changes.find(([isMade]) => isMade)
  return change && say`${change[1]}; "regent local down ${cluster.name}" first, then up with it`
}

function orchestratorChanges(
  { orchestrator }: LocalCluster,
  { orchestratorPort, orchestratorHosts }: UpOptions,
): readonly (readonly [boolean, Sentence])[] {
  const portChanges = differs(orchestratorPort, orchestrator?.port)
  const hostsChange = differs(orchestratorHosts, orchestrator?.hosts)
  if (orchestrator === undefined)
    return [
      [portChanges, say`without orchestrator’s interface`],
      [hostsChange, say`without orchestrator’s interface, which --orchestrator-port serves`],
    ]
  return [
    [portChanges, say`with another port for orchestrator’s interface`],
    [
      hostsChange,
      say`with servers called by ${orchestrator.hosts}, not ${orchestratorHosts}, at orchestrator’s interface`,
    ],
  ]
}

/** What is changed while the servers run, and what a person is told of that. */
interface ChangeWhileUp {
  readonly spec: ClusterSpec
  readonly words: readonly string[]
}

/**
 * What the file changes, where members and manager take that while they run; undefined where nothing changes. What else
 * would change was refused before (`refuseChanges`).
 */
export async function changeWhileUp(found: FoundCluster, options: UpOptions): Promise<ChangeWhileUp | undefined> {
  if (options.config === undefined) return undefined
  const { name } = found.cluster
  const { hooks: before, ...rest } = await readSpec(layoutOf(found.dir), name)
  const { group, hooks } = await askedSpec(found, options)
  const words = [
    ...(isDeepStrictEqual(group, rest.group)
      ? []
      : [`group.consistency is ${group.consistency} from now on: the members take it within seconds`]),
    ...(isDeepStrictEqual(hooks, before)
      ? []
      : [
          hooks === undefined
            ? 'the manager runs no hooks any more, within seconds'
            : `the manager takes the hooks of the file within seconds; "regent hooks test ${name}" tries them`,
        ]),
  ]
  return words.length === 0 ? undefined : { spec: { ...rest, group, ...(hooks && { hooks }) }, words }
}

/** What is not asked for stays as it is. */
function differs<Value>(asked: Value | undefined, is: Value | undefined): boolean {
  return asked !== undefined && asked !== is
}

/** An address that names no password is content with the password that is known. */
export function hasLogin(store: string): boolean {
  return store !== 'file' && parseRedisAddress(store).options.password !== undefined
}
