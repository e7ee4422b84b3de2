import { networkInterfaces } from 'node:os'
import { runCommand } from '#common/process/run-command.ts'
import { claimPort } from './free-port.ts'

/** Where the test itself runs, and with it the manager and the command line. */
export const here = 'here'
/** Nobody's hardware address: what is sent there is thrown away by everybody, without a word to the sender. */
const nowhere = '02:00:00:00:00:00'

interface Host {
  readonly address: string
  /** Empty for the namespace the test runs in. */
  readonly namespace: string
  readonly device: string
}

/**
 * Machines of one network, each a network namespace of this one, joined by a bridge in a namespace of its own; needs
 * root and `ip`.
 */
export class Namespaces {
  readonly #id: string
  readonly #hosts: ReadonlyMap<string, Host>
  /** Nothing goes from the first to the second. */
  #cuts: (readonly [Host, Host])[] = []

  private constructor(id: string, hosts: ReadonlyMap<string, Host>) {
    this.#id = id
    this.#hosts = hosts
  }

  /** Undefined where this machine lets us make them; else why it does not. */
  static async whyNot(): Promise<string | undefined> {
    if (process.getuid?.() !== 0) return 'only root may make network namespaces'
    try {
      const tried = await Namespaces.create(['one'])
      await tried.remove()
      return undefined
    } catch (error) {
      return `network namespaces cannot be made here: ${String(error)}`
    }
  }

  /** So many machines of these names, and `here`, all of which reach each other. */
  static async create(names: readonly string[]): Promise<Namespaces> {
    const id = `regent${process.pid}`
    const network = await freeNetwork()
    const hosts = new Map(
      [here, ...names].map((name, at) => [
        name,
        {
          address: `${network}.${at + 1}`,
          namespace: name === here ? '' : `${id}-${name}`,
          device: name === here ? id : 'eth0',
        },
      ]),
    )
    const namespaces = new Namespaces(id, hosts)
    try {
      await namespaces.#build()
    } catch (error) {
      await namespaces.remove().catch(() => undefined)
      throw error
    }
    return namespaces
  }

  address(name: string): string {
    return this.#host(name).address
  }

  /**
   * The words before a command that runs it on that machine; they exec it. `ip netns exec` would keep every disk that
   * is mounted at that moment: the disk of another test could not be mounted anew.
   */
  wrapper(name: string): readonly string[] {
    return ['nsenter', `--net=/run/netns/${this.#host(name).namespace}`]
  }

  /**
   * From now on neither gets anything from the other; connections between them stay open and silent, as when a cable is
   * pulled somewhere between.
   */
  async cut(one: string, other: string): Promise<void> {
    await Promise.all([this.cutWay(one, other), this.cutWay(other, one)])
  }

  /** The same for one way alone: what the other sends still arrives, and is never answered. */
  async cutWay(fromName: string, toName: string): Promise<void> {
    const [from, to] = [this.#host(fromName), this.#host(toName)]
    // Two faults may cut the same way: it is mended once.
    if (!this.#cuts.some(([a, b]) => a === from && b === to)) this.#cuts.push([from, to])
    await ip(from, 'neigh', 'replace', to.address, 'lladdr', nowhere, 'nud', 'permanent', 'dev', from.device)
  }

  /** Cuts one off from all others. */
  async isolate(name: string): Promise<void> {
    await Promise.all([...this.#hosts.keys()].filter((other) => other !== name).map((other) => this.cut(name, other)))
  }

  async mend(): Promise<void> {
    const cuts = this.#cuts
    this.#cuts = []
    await Promise.all(cuts.map(([from, to]) => ip(from, 'neigh', 'del', to.address, 'dev', from.device)))
  }

  /** Nothing may run in them any more: a namespace lives as long as a process in it. */
  async remove(): Promise<void> {
    const made = await runCommand(['ip', 'netns', 'list'], { deadlineMs: 60_000 })
    const ours = made.stdout
      .split('\n')
      .map((line) => line.split(' ')[0] ?? '')
      .filter((name) => name.startsWith(`${this.#id}-`))
    // Deleted by itself: with its namespace the other end would go a moment later only, and its name could not be taken
    // again at once.
    await runCommand(['ip', 'link', 'del', this.#id], { deadlineMs: 60_000 })
    for (const name of ours) await run('ip', 'netns', 'del', name)
  }

  async #build(): Promise<void> {
    const bridge = { address: '', namespace: `${this.#id}-switch`, device: 'bridge' }
    await run('ip', 'netns', 'add', bridge.namespace)
    await ip(bridge, 'link', 'add', 'bridge', 'type', 'bridge')
    await ip(bridge, 'link', 'set', 'bridge', 'up')
    for (const [at, host] of [...this.#hosts.values()].entries()) {
      if (host.namespace !== '') await run('ip', 'netns', 'add', host.namespace)
      await ip(
        bridge,
        'link',
        'add',
        `port${at}`,
        'type',
        'veth',
        'peer',
        'name',
        host.device,
        'netns',
        host.namespace === '' ? String(process.pid) : host.namespace,
      )
      await ip(bridge, 'link', 'set', `port${at}`, 'master', 'bridge', 'up')
      await ip(host, 'addr', 'add', `${host.address}/24`, 'dev', host.device)
      await ip(host, 'link', 'set', host.device, 'up')
      if (host.namespace !== '') await ip(host, 'link', 'set', 'lo', 'up')
    }
  }

  #host(name: string): Host {
    const host = this.#hosts.get(name)
    if (host === undefined)
      throw new Error(`there is no machine ${name}; there are ${[...this.#hosts.keys()].join(', ')}`)
    return host
  }
}

/**
 * Of the range that is set aside for measuring network devices (RFC 2544), a part that this machine has no address in,
 * and that no other test is given.
 */
async function freeNetwork(): Promise<string> {
  const taken = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))
  for (;;) {
    const part = Math.floor(Math.random() * 256)
    if (!taken.some((address) => address.startsWith(`198.18.${part}.`)) && (await claimPort(`127.25.${part}.1`, 9_397)))
      return `198.18.${part}`
  }
}

function ip({ namespace }: Host, ...words: readonly string[]): Promise<void> {
  return run('ip', ...(namespace === '' ? [] : ['-n', namespace]), ...words)
}

async function run(...argv: readonly string[]): Promise<void> {
  const done = await runCommand(argv, { deadlineMs: 60_000 })
  if (!done.ok) throw new Error(`${argv.join(' ')}: ${done.failure}`)
}
