import { expect, it } from 'vitest'
import { Writer } from '../support/writer.ts'
import { expectNothingLost, withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()

/**
 * The lines of Events that were seen within two minutes: kubectl tells their age in seconds. A refusal that another
 * test has met before stands where it was met first, with the age of the last one.
 */
function recentOf(events: string): string {
  return events
    .split('\n')
    .filter((line) => /^ +\S+ +\S+ +\d+s /.test(line))
    .join('\n')
}

it('kubectl get and describe tell of a failover as it begins and its whole story as it ends, and of what was refused, without a flood', async () => {
  const cluster = demo.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const before = await cluster.primary()
  const wallMs = Date.now()
  await cluster.killMysqld(before)
  const after = await cluster.otherPrimary(before)
  const { toEpoch } = await cluster.recoverySince(wallMs)
  await cluster.whole()
  for (let time = 0; time < 3; time++) {
    await expect(cluster.regent('switchover', cluster.name, '--to', after)).rejects.toThrow('REGENT_REFUSED')
    await expect(
      cluster.kubectl(
        'patch',
        'mysql',
        cluster.name,
        '--type',
        'merge',
        '--patch',
        '{"spec":{"settings":{"sync_binlog":"0"}}}',
      ),
    ).rejects.toThrow('sync_binlog')
  }
  await expect(
    cluster.kubectl(
      'patch',
      'mysql',
      cluster.name,
      '--dry-run=server',
      '--type',
      'merge',
      '--patch',
      '{"spec":{"settings":{"relay_log_purge":"OFF"}}}',
    ),
  ).rejects.toThrow('relay_log_purge')

  const epoch = `epoch ${toEpoch ?? 0}`
  const story = [
    new RegExp(`Warning +FailoverBegan .* promise ${epoch}`),
    new RegExp(`Normal +FailoverSucceeded .* promise .* committed revision \\d+, ${epoch}.* route moved to ${after}`),
    new RegExp(`Warning +RequestRefused .* no switchover: ${after} is the primary already`),
  ]
  const told = await cluster.until(
    () => 'the whole story in kubectl describe',
    async () => {
      const [, events = ''] = (await cluster.kubectl('describe', 'mysql', cluster.name)).split('\nEvents:')
      const since = recentOf(events)
      return story.every((chapter) => chapter.test(since)) && since
    },
  )
  const places = story.slice(0, 2).map((chapter) => told.search(chapter))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(told).not.toContain('FailoverStep')
  expect(told.match(new RegExp(` no switchover: ${after} `, 'g'))).toHaveLength(1)
  // A webhook answers whoever asks, and records nothing: anybody could have asked.
  expect(told).not.toMatch(/sync_binlog|relay_log_purge/)
  expect(await cluster.kubectl('get', 'mysql', cluster.name)).toContain(after)
  await expectNothingLost(writer)
})
