import { setTimeout as sleep } from 'node:timers/promises'
import { expulsionThrough } from '#agents/group/expulsion.ts'
import { groupUser } from '#agents/instance/accounts.ts'
import type { AgentConfig } from '#agents/instance/config.ts'
import type { ExpulsionPort } from '#agents/ports/expulsion.ts'
import type { GroupPort } from '#agents/ports/group.ts'
import { groupAddress } from '#failover/protocol/group-address.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { GroupStage, StagedMember } from '../simulation/group/steps/stage.ts'
import { BareInstance, secret, until } from './bare-instance.ts'
import { copyVolume, prepareVolume, RealServer } from './real-stage.ts'
import { eachOne } from './each-one.ts'

/** The plugin takes only an address that an interface of the machine has, and the loopback interface has one. */
const host = '127.0.0.1'
const patienceMs = 60_000

/** A server of mode `group` that was never in a group. */
export function prepareMember(port: number): Promise<BareInstance> {
  return prepareVolume(atPort(port))
}

function atPort(port: number): Partial<AgentConfig> {
  return { mode: 'group', host, port, adminPort: port + 1 }
}

/** Real servers without agents that may become members of one group. */
export class RealGroupStage implements GroupStage {
  readonly servers: readonly RealMember[]
  readonly sleep = (ms: number): Promise<void> => sleep(ms)
  readonly until: GroupStage['until'] = (look, what) => until(look, what, patienceMs)

  private constructor(servers: readonly RealMember[]) {
    this.servers = servers
  }

  /** On two ports each, from `firstPort` on. */
  static async create(template: BareInstance, firstPort: number, count: number): Promise<RealGroupStage> {
    const servers = Array.from({ length: count }, async (_, ordinal) => {
      const instance = await BareInstance.create(`bare-${ordinal}`, {}, atPort(firstPort + 2 * ordinal))
      await copyVolume(template, instance)
      return new RealMember(instance)
    })
    return new RealGroupStage(await Promise.all(servers))
  }

  async remove(): Promise<void> {
    await eachOne(this.servers, (server) => server.remove())
  }
}

class RealMember extends RealServer implements StagedMember {
  readonly expulsion: ExpulsionPort

  constructor(instance: BareInstance) {
    super(instance)
    const password = passwordFor(secret, groupUser)
    const stack = { kind: 'mysql', user: groupUser, password, tls: { ca: '', name: null } } as const
    this.expulsion = expulsionThrough(stack, realWorld)
  }

  get group(): GroupPort {
    if (this.port.group === undefined) throw new TypeError('every server of this stage has the plugin')
    return this.port.group
  }

  get address(): string {
    return groupAddress(this.instance.config)
  }

  freeze(): void {
    process.kill(this.#pid, 'SIGSTOP')
  }

  thaw(): void {
    process.kill(this.#pid, 'SIGCONT')
  }

  get #pid(): number {
    const { pid } = this.instance.process
    if (pid === null) throw new Error(`${this.name} does not run`)
    return pid
  }

  override async remove(): Promise<void> {
    this.expulsion.rest()
    await super.remove()
  }
}
