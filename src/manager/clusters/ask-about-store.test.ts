import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { aBackup, aSituation } from '#failover/testing.ts'
import { askAboutStore } from './ask-about-store.ts'

const reads = { readsStore: true } as const
const views = { 'shop-0': reads, 'shop-1': reads, 'shop-2': {} }
const situation = aSituation({ spec: { backup: aBackup() }, views })
const search = { table: 'app.orders', kind: 'drop' }

/** Agents that answer with their own address, but for those that are busy. */
function transport(...busy: readonly string[]) {
  const asked: [string, string, unknown][] = []
  const post = async (address: string, path: string, body: unknown): Promise<unknown> => {
    asked.push([address, path, body])
    if (busy.includes(address)) throw new RegentError('REGENT_BUSY', say`reads already`)
    return { by: address }
  }
  return { post, asked }
}

const agentOf = (wanted: string) => situation.snapshot.instances.find(({ name }) => name === wanted)?.agent ?? ''

describe('What lies in the store of backups', () => {
  it('a replica’s agent is asked that can look there', async () => {
    const to = transport()
    expect(await askAboutStore(to, situation, 'findInArchive', search)).toEqual({ by: agentOf('shop-1') })
    const { member } = situation.snapshot.instances.find(({ name }) => name === 'shop-1')?.observation ?? {}
    const store = aBackup().store
    expect(to.asked).toEqual([
      [agentOf('shop-1'), '/v1/find-in-archive', { version: 1, cluster: 'shop', member, store, ...search }],
    ])
  })

  it('another one is asked where that is busy, the primary’s too', async () => {
    const to = transport(agentOf('shop-1'))
    expect(await askAboutStore(to, situation, 'storedBackups', {})).toEqual({ by: agentOf('shop-0') })
    const all = transport(agentOf('shop-0'), agentOf('shop-1'))
    await expect(askAboutStore(all, situation, 'restoreWindow', {})).rejects.toMatchObject({ code: 'REGENT_BUSY' })
    expect(all.asked).toHaveLength(2)
  })

  it('nobody is asked where no store is named, and none that is older', async () => {
    const to = transport()
    const none = aSituation({ views })
    await expect(askAboutStore(to, none, 'storedBackups', {})).rejects.toThrow('the spec of shop names no store')
    const older = aSituation({ spec: { backup: aBackup() } })
    await expect(askAboutStore(to, older, 'storedBackups', {})).rejects.toThrow('no agent of shop that answers can')
    expect(to.asked).toEqual([])
  })
})
