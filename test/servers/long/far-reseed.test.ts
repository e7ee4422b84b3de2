import { readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Strangers, strangersPassword } from '#test/support/strangers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

async function uuidOf(strangers: Strangers, instance: string): Promise<unknown> {
  const [row] = await strangers.hostOf(instance).sql('SELECT @@server_uuid AS uuid')
  return row?.['uuid']
}

describe('A server of somebody else that cannot follow as it is', () => {
  let strangers: Strangers
  let cluster: TestCluster

  beforeAll(async () => {
    strangers = await Strangers.start({ ssh: [2] })
    cluster = await strangers.manage()
    await cluster.whole()
  })
  afterAll(async () => {
    await stopWriters()
    await strangers.end()
  })

  async function errantAt(instance: string): Promise<void> {
    await strangers
      .hostOf(instance)
      .sql('SET GLOBAL super_read_only = OFF', 'CREATE TABLE app.stray (id int PRIMARY KEY)')
    await cluster.waitFor(`${instance} is left as it is`, ({ sentence }) =>
      sentence.includes(`reseed is manual: it is left as it is until you say regent reseed ${instance}`),
    )
  }

  /** Every file of the archives there, with its length. */
  async function archivesIn(folder: string): Promise<readonly string[]> {
    const dir = join(strangers.home, 'shop', folder)
    const entries = await readdir(dir, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    if (files.length === 0) throw new Error(`no archive is in ${dir}`)
    return Promise.all(files.toSorted().map(async (file) => `${relative(dir, file)}: ${(await stat(file)).size}`))
  }

  it('is left as it is until a person says so, and then becomes a copy of another', async () => {
    const writer = await Writer.start(cluster)
    const before = await uuidOf(strangers, 'shop-1')
    expect(await strangers.regent('reseed', 'shop-1')).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('shop-1 gives no reason to replace its data') as string },
    })
    await errantAt('shop-1')
    expect((await strangers.regent('replace', 'shop-1', '--accept-loss')).stderr).toContain('regent reseed shop-1')
    const dry = await strangers.regent('reseed', 'shop-1', '--dry-run')
    expect(dry.stdout).toContain('all data of shop-1 are replaced by a copy of')
    expect(await strangers.hostOf('shop-1').sql('SHOW TABLES FROM app LIKE "stray"')).toHaveLength(1)

    const ran = await strangers.regent('reseed', 'shop-1')
    expect(ran, ran.stderr).toMatchObject({ code: 0 })
    await cluster.whole()
    expect(await strangers.hostOf('shop-1').sql('SHOW TABLES FROM app LIKE "stray"')).toHaveLength(0)
    expect(await uuidOf(strangers, 'shop-1')).not.toBe(before)
    expect(await readdir(join(strangers.home, 'shop/instances/shop-1/archive'))).toEqual([
      expect.stringMatching(/^errant-shop-1-/),
    ])
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('leads afterwards as others do', async () => {
    await cluster.switchover({ to: 'shop-1' })
    const writer = await Writer.start(cluster, { table: 'later' })
    const killedMs = monotonicMs()
    await strangers.hostOf('shop-1').kill()
    await writer.next(killedMs, { notBy: strangers.hostOf('shop-1').address })
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('is not copied where only SQL reaches its host, and is made a copy by hand while it is watched', async () => {
    await errantAt('shop-2')
    expect(await strangers.regent('reseed', 'shop-2')).toMatchObject({ code: 0 })
    await cluster.waitFor('the refusal', ({ sentence }) =>
      sentence.includes('cannot archive transactions where only SQL reaches the host'),
    )
    const primary = strangers.hostOf(await cluster.primary()).address
    await cluster.letGo()
    const archives = await archivesIn('instances/shop-1/archive')
    const watched = await strangers.regent('adopt', 'watch', 'shop')
    expect(watched, watched.stderr).toMatchObject({ code: 0 })
    const kept = 'archives/shop-1'
    expect(watched.stdout).toContain(join(strangers.home, 'shop', kept))
    expect(await archivesIn(kept)).toEqual(archives)
    const { server } = strangers.hostOf('shop-2')
    await server
      .sql(
        'STOP REPLICA',
        `SET GLOBAL clone_valid_donor_list = '${primary}:3306'`,
        'SET GLOBAL super_read_only = OFF',
        `CLONE INSTANCE FROM keeper@'${primary}':3306 IDENTIFIED BY '${strangersPassword}'`,
      )
      .catch(() => undefined)
    await server.gone()
    await server.start()
    await server.sql(
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST='${primary}', SOURCE_USER='repl', SOURCE_PASSWORD='${strangersPassword}', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1`,
      'START REPLICA',
      'SET GLOBAL super_read_only = ON',
    )
    cluster = await strangers.manage({ file: false })
    await cluster.whole()
    expect(await archivesIn(kept)).toEqual(archives)
    await cluster.letGo()
    expect((await strangers.regent('adopt', 'watch', 'shop')).stdout).toContain(join(strangers.home, 'shop', kept))
    expect(await strangers.regent('adopt', 'remove', 'shop')).toMatchObject({ code: 0 })
    expect(await archivesIn(kept)).toEqual(archives)
  })
})
