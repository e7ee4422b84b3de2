import { lookup } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sentence } from '#common/sentence/sentence.ts'
import type { PlatformInstance } from '#common/ports/platform.ts'
import type { ApiReader } from '#cli/connection/api-reader.ts'
import { namesOf } from '#kube/names/names.ts'
import { agentAddress, mysqlPort } from '#kube/objects/services.ts'
import type { RouterFile } from '#kube/router/router-file.ts'
import { instanceName } from '#topology/snapshot/member.ts'
import { followRecord } from '../manager-stream.ts'
import type { ManagerWord } from '../manager-word.ts'
import type { Router } from '../router.ts'
import { HostNames, type Resolve } from './host-names.ts'

export interface KubernetesSourceParts {
  /** The file is read anew each time: the number of instances changes. */
  readonly file: () => Promise<RouterFile>
  readonly openManager: () => Promise<ApiReader>
  readonly warn: (sentence: Sentence) => void
  readonly resolve?: Resolve
  /** The time for a name server to answer. */
  readonly resolveMs?: number
}

const lookEveryMs = 1_000
/** Longer than a try at an address where no machine answers: a try that is cut short says nothing of the machine. */
const wholeTryMs = 2_000
/** A name server that is away is asked for half a minute and longer, as the pod's resolv.conf says. */
const usuallyResolveMs = 2_000

/**
 * Tells a router of instances and record, by the manager's stream. The names of the pods lead to agents that are not
 * heard. Where neither helps, the router keeps what was known before.
 */
export async function followKubernetes(
  router: Pick<Router, 'setInstances' | 'setRecord' | 'unheard'>,
  parts: KubernetesSourceParts,
  until: AbortSignal,
): Promise<void> {
  const book = new AddressBook((instances) => router.setInstances(instances))
  const first = await parts.file()
  const following = followRecord(parts.openManager, `${first.namespace}.${first.cluster}`, {
    signal: until,
    heard: (word) => {
      if (word !== null) book.managerSays(word)
      router.setRecord(word)
    },
    warn: parts.warn,
  })
  const names = new HostNames(parts.resolve ?? addressOf, parts.resolveMs ?? usuallyResolveMs)
  while (!until.aborted) {
    await lookAfterUnheard(router, { file: parts.file, book, names })
    await sleep(lookEveryMs, undefined, { signal: until }).catch(() => undefined)
  }
  await following
}

interface Looking extends Pick<KubernetesSourceParts, 'file'> {
  readonly book: AddressBook
  readonly names: HostNames
}

async function lookAfterUnheard(router: Pick<Router, 'unheard'>, { file, book, names }: Looking): Promise<void> {
  const { cluster, namespace, instances } = await file()
  if (!book.isTold) book.expect(Array.from({ length: instances }, (_, ordinal) => instanceName(cluster, ordinal)))
  const hostOf = (name: string): string => `${name}.${namesOf(cluster).instances}.${namespace}.svc`
  const byHost = new Map(router.unheard().map((name) => [hostOf(name), name]))
  for (const host of names.inTurn([...byHost.keys()])) book.tried(byHost.get(host) ?? '', await names.addressOf(host))
}

/** The instances, and the address of each. */
class AddressBook {
  readonly #changed: (instances: readonly PlatformInstance[]) => void
  #names: readonly string[] = []
  readonly #byManager = new Map<string, string>()
  readonly #now = new Map<string, string>()
  /** The time since when the address is in use. */
  readonly #sinceMs = new Map<string, number>()
  isTold = false

  constructor(changed: (instances: readonly PlatformInstance[]) => void) {
    this.#changed = changed
  }

  /** The names count until a manager has told the instances. */
  expect(names: readonly string[]): void {
    this.#names = names
    this.#tell()
  }

  managerSays({ instances }: Pick<ManagerWord, 'instances'>): void {
    // No cluster is without instances: the StatefulSet is away, and its pods may be well.
    if (instances.length === 0) return
    this.isTold = true
    this.#names = instances.map(({ name }) => name)
    for (const { name, host } of instances) {
      if (host === '' || this.#byManager.get(name) === host) continue
      this.#byManager.set(name, host)
      this.#use(name, host)
    }
    this.#tell()
  }

  tried(name: string, byName: string): void {
    const now = this.#now.get(name) ?? ''
    const next = nextAddress({ now, byManager: this.#byManager.get(name) ?? '', byName })
    if (next === now || (now !== '' && performance.now() - (this.#sinceMs.get(name) ?? 0) < wholeTryMs)) return
    this.#use(name, next)
    this.#tell()
  }

  #use(name: string, host: string): void {
    if (this.#now.get(name) !== host) this.#sinceMs.set(name, performance.now())
    this.#now.set(name, host)
  }

  #tell(): void {
    this.#changed(
      this.#names.map((name) => {
        const host = this.#now.get(name) ?? ''
        return { name, host, port: mysqlPort, agent: host === '' ? '' : agentAddress(host) }
      }),
    )
  }
}

/** The known addresses of one instance. */
interface KnownAddresses {
  /** The address in use; '' for none. */
  readonly now: string
  /** The last address that a manager told; '' for none. */
  readonly byManager: string
  /** The address that the pod's name leads to; '' where no name server answers. */
  readonly byName: string
}

/**
 * The next address at which to look for an agent that is not heard. A pod that was made anew has another address. The
 * manager and the name server may each be late: so their addresses are tried in turn.
 */
function nextAddress({ now, byManager, byName }: KnownAddresses): string {
  const others = [byName, byManager].filter((address) => address !== '' && address !== now)
  return others[0] ?? now
}

async function addressOf(host: string): Promise<string> {
  try {
    return (await lookup(host)).address
  } catch {
    return ''
  }
}
