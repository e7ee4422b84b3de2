import type { GroupPort } from '#agents/ports/group.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Mysqld } from '../mysqld/mysqld.ts'
import type { Groups } from './groups.ts'
import type { GroupPlugin } from './plugin.ts'

/** One statement, there and back, as `SimulatedServer` sends it. */
export type Ask = <T>(act: (server: Mysqld) => T) => Promise<T>

const stopMs = 60_000
const lookMs = 800

/** What an agent does to its mysqld as a member of a group. */
export function simulatedGroupPort(ask: Ask, groups: Groups): GroupPort {
  const plugin = (): Promise<GroupPlugin> => ask((server) => pluginOf(server, groups))
  /** A statement that lasts. Its server may end meanwhile. */
  async function lasting<T>(act: (of: GroupPlugin) => Promise<T>): Promise<T> {
    const of = await plugin()
    const ended = new Promise<never>((_, reject) => {
      of.mysqld.onChange(() => {
        if (of.mysqld.state === 'dead') reject(new RegentError('REGENT_SERVER_DOWN', say`mysqld ended`))
      })
    })
    const result = await Promise.race([act(of), ended])
    await ask(() => undefined)
    return result
  }
  /** A look at the group waits while the group is being left. */
  async function stopped<T>(look: (of: GroupPlugin) => T): Promise<T> {
    const untilMs = groups.time.nowMs + lookMs
    for (;;) {
      const of = await plugin()
      if (!of.isStopping) return look(of)
      if (groups.time.nowMs >= untilMs)
        throw new RegentError('REGENT_SERVER_TIMEOUT', say`no answer within ${lookMs} ms`)
    }
  }
  return {
    viewId: async () => await stopped((of) => of.viewId),
    agree: async () => void (await plugin()),
    start: (settings, forms) => lasting((of) => of.start(settings, forms)),
    stop: (deadlineMs = stopMs) => lasting((of) => of.stop(deadlineMs)),
    electPrimary: (uuid, limits) => lasting((of) => of.electPrimary(uuid, limits)),
    leadAlone: (uuid, deadlineMs) => lasting((of) => of.leadAlone(uuid, deadlineMs)),
    forgetMode: async () => undefined,
    setConsistency: async () => undefined,
    // Every server here speaks what all of them speak.
    protocol: async () => '8.0.27',
    setProtocol: async () => undefined,
    // No address here is silent that was left.
    repeatConfiguration: async () => undefined,
    // Nobody here changes an account.
    setAccount: async () => undefined,
    applyReceived: () => ask((server) => server.startGroupApplier()),
  }
}

function pluginOf(server: Mysqld, groups: Groups): GroupPlugin {
  const found = groups.pluginOf(server)
  if (found === undefined) throw new Error('every mysqld of mode group has the plugin')
  return found
}
