import { copyFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueAuthority } from '#certificates/issue.ts'
import { realRandom } from '#common/ports/real-world.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { Strangers } from '#test/support/strangers.ts'

describe('Three servers whose certificates a file of authorities tells', () => {
  let strangers: Strangers
  let cluster: TestCluster

  beforeAll(async () => {
    strangers = await Strangers.start({ ssh: false, start: false, authorities: true })
    cluster = await strangers.manage()
  })
  afterAll(() => strangers.end())

  it('are managed, and one that shows another certificate is not spoken to', async () => {
    await cluster.whole()
    const own = strangers.authorityFile('shop-1')
    await copyFile(own, `${own}.kept`)
    await writeFile(own, (await issueAuthority(86_400_000, { wallMs: Date.now(), random: realRandom })).cert)
    const { hosts } = strangers
    await endSessionsOfAgents(hosts[1])
    await cluster.until('it is named', async () => JSON.stringify(await cluster.view()).includes('certificate'))
    expect(await cluster.primary()).toBe('shop-0')

    await copyFile(`${own}.kept`, own)
    await cluster.whole()
    expect((await cluster.recoveries()).filter(({ kind }) => kind === 'failover')).toEqual([])
  })
})

async function endSessionsOfAgents(host: Strangers['hosts'][number] | undefined): Promise<void> {
  const sessions = (await host?.sql(`SELECT ID AS id FROM information_schema.PROCESSLIST WHERE USER = 'keeper'`)) ?? []
  for (const { id } of sessions) await host?.sql(`KILL ${String(id)}`).catch(() => undefined)
}
