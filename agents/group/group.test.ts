import { describe, expect, it } from 'vitest'
import type { GroupState } from '../../topology/snapshot/observation.ts'
import { aServerState, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'
import { Group } from './group.ts'

const online: GroupState = {
  name: '11111111-2222-8333-8444-555555555555',
  state: 'ONLINE',
  viewId: '17:3',
  members: [],
  certifying: 0,
  applying: 0,
  error: '',
}

/** A process whose change of state is told as a real one's is. */
class MortalProcess extends ScriptedProcess {
  #tell: () => void = () => undefined
  override readonly onChange = (changed: () => void): void => void (this.#tell = changed)

  become(state: ScriptedProcess['state']): void {
    this.state = state
    this.#tell()
  }
}

async function aMember(group: GroupState = online) {
  const process = new MortalProcess()
  const parts = await testParts(new ScriptedServer({ ...aServerState(), group }), { process })
  const asked: string[] = []
  const expulsion = {
    know: ({ viewId }: GroupState) => void asked.push(`know ${viewId}`),
    expel: async () => (asked.push('expel'), 'The removal was accepted.'),
    close: () => undefined,
  }
  await parts.observer.refresh()
  const mode = new Group({ ...parts, expulsion }, () => undefined)
  mode.start()
  await parts.world.timers.sleep(250)
  return { parts, process, asked, mode }
}

describe('A member of a group whose mysqld dies', () => {
  it('has the others remove it, once, and says what became of that', async () => {
    const { parts, process, asked, mode } = await aMember()
    for (const state of ['exiting', 'dead'] as const) process.become(state)
    await parts.world.timers.sleep(1)
    mode.stop()
    expect(asked).toEqual(['know 17:3', 'expel'])
    expect(parts.notices.list).toMatchObject([{ code: 'GroupMemberExpelled', sentence: 'The removal was accepted.' }])
  })

  it('has nobody removed while it is only stopped', async () => {
    const { process, asked, mode } = await aMember()
    process.become('stopped')
    mode.stop()
    expect(asked).toEqual(['know 17:3'])
  })

  it('has nobody removed where it was no member', async () => {
    const { process, asked, mode } = await aMember({ ...online, state: 'RECOVERING' })
    process.become('dead')
    mode.stop()
    expect(asked).toEqual([])
  })
})
