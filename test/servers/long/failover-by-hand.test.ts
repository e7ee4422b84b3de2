import { expect, it } from 'vitest'
import { deafenReplicas } from '#test/support/deaf-replicas.ts'
import { archivesOf, printArchive } from '#test/support/instance-files.ts'
import { loseVolume } from '#test/support/lost-volume.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** After the first failover no other one is automatic while these tests run. */
const shop = withCluster({ spec: { failover: { windowMs: 3_600_000 } } })

it('Within the window a primary that dies again is not replaced, and it is said why; regent failover replaces it at once, and nothing is lost', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  await writer.outageSince(await cluster.fault('shop-0', 'kill-mysqld'))
  const { epoch } = await cluster.whole()
  const from = await cluster.primary()
  await cluster.fault(from, 'kill')
  const deadMs = monotonicMs()
  const declined = await cluster.waitFor(
    'it says why',
    ({ sentence }) => new RegExp(`no failover: ${from} .*\\(window 3600 s\\); by hand: regent failover`).test(sentence),
    10_000,
  )
  expect(declined).toMatchObject({ primary: from, epoch, blocked: true, writable: false })
  expect(writer.begunSince(deadMs)).toEqual([])
  const ran = await cluster.regent('failover', 'shop', '-o', 'json')
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(ran.stdout)).toMatchObject({
    done: true,
    dryRun: false,
    sentence: expect.stringMatching(/failing over to shop-\d, which holds everything acknowledged/) as string,
  })
  await writer.next(deadMs, { deadlineMs: 5_000 })
  expect(await cluster.view()).toMatchObject({ epoch: epoch + 1 })
  await cluster.fault(from, 'start')
  expect((await cluster.whole()).primary).not.toBe(from)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A dry run of a failover to an instance says what would be done and changes nothing; without it that instance leads', async () => {
  const cluster = shop.current
  const from = await cluster.primary()
  // The one that election would not have chosen.
  const to = (await cluster.replicas()).at(-1) ?? ''
  const writer = await Writer.start(cluster)
  await cluster.fault(from, 'freeze-mysqld')
  const frozenMs = monotonicMs()
  await cluster.waitFor('it says why', ({ sentence }) => /no failover: .*\(window 3600 s\)/.test(sentence), 10_000)
  const before = await cluster.explain()
  const dry = await cluster.regent('failover', 'shop', '--to', to, '--dry-run')
  expect(dry).toMatchObject({ code: 0, stderr: '' })
  expect(dry.stdout).toMatch(
    new RegExp(
      `^dry run: would fail over: mysqld of ${from} is stopped .*\n.*2 of the sync set must promise epoch ${(before.record?.epoch ?? 0) + 1}\n.*${to} is committed as primary\n`,
    ),
  )
  await expect(writer.next(frozenMs, { deadlineMs: 1_000 })).rejects.toThrow('no write was acknowledged')
  expect((await cluster.explain()).record).toEqual(before.record)
  const ran = await cluster.regent('failover', 'shop', '--to', to)
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining(`failing over to ${to}`) as string })
  await writer.next(frozenMs, { deadlineMs: 5_000 })
  expect(await cluster.whole()).toMatchObject({ primary: to, epoch: (before.record?.epoch ?? 0) + 1 })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('Where too few are left to prove that nothing is lost a failover is refused with the reason; with --accept-loss the one that is left leads, what is given up is named, and it stays in an archive', async () => {
  const cluster = shop.current
  const { epoch } = await cluster.whole()
  const from = await cluster.primary()
  const [gone = '', left = ''] = await cluster.replicas()
  await cluster.sql(from, 'create table app.given_up (id int primary key)', { user: 'client' })
  await cluster.whole()
  // Paused, nobody leaves the sync set: it is asked whether anything is lost while that is not known.
  expect(await cluster.regent('pause', 'shop')).toMatchObject({ code: 0 })
  const deaf = await deafenReplicas(cluster, [left])
  await cluster.sql(from, 'insert into app.given_up values (1)', { user: 'client' })
  await Promise.all([cluster.fault(from, 'kill'), loseVolume(cluster, gone)])
  await deaf.end()
  expect(await cluster.regent('resume', 'shop')).toMatchObject({ code: 0 })
  await cluster.waitFor(
    'both are missed',
    ({ blocked, sentence, instances }) =>
      blocked &&
      sentence.startsWith(`no failover: ${from} is unreachable`) &&
      instances.every(({ name, reachable }) => reachable === (name === left)),
  )

  const before = await cluster.explain()
  const refused = await cluster.regent('failover', 'shop')
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(
    new RegExp(
      `2 members of the sync set must promise, none did; bring back ${from}, ${gone}, or give up what they hold: regent failover --accept-loss`,
    ),
  )
  const dry = await cluster.regent('failover', 'shop', '--accept-loss', '--dry-run')
  expect(dry).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`; writes that only ${from} and ${gone} hold would be given up`) as string,
  })
  expect((await cluster.explain()).record).toEqual(before.record)

  const ran = await cluster.regent('failover', 'shop', '--accept-loss')
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  const named = `forced failover to ${left}: writes that only ${from} and ${gone} hold are given up`
  expect(ran.stdout).toContain(named)
  const [recovery] = await cluster.recoveries()
  expect(recovery).toMatchObject({
    kind: 'failover',
    outcome: 'succeeded',
    fromEpoch: epoch,
    toEpoch: epoch + 1,
    sentence: expect.stringContaining(named) as string,
  })
  expect(recovery?.to).toContain(`${left}@`)

  await cluster.fault(gone, 'start')
  await cluster.waitFor(
    'writes are taken again',
    ({ primary, writable, syncSet }) => primary === left && writable && syncSet.join() === gone,
    90_000,
  )
  const writer = await Writer.start(cluster)
  await cluster.fault(from, 'start')
  expect(await cluster.whole(3, 90_000)).toMatchObject({ primary: left })
  for (const name of [from, gone, left])
    expect(await cluster.value(name, 'select count(*) from app.given_up')).toBe('0')
  const printed = await Promise.all((await archivesOf(cluster, from)).map((archive) => printArchive(cluster, archive)))
  expect(printed.join('\n')).toContain('INSERT INTO `app`.`given_up`')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
}, 300_000)
