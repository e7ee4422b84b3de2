import { expect, it } from 'vitest'
import { Writer } from '../support/writer.ts'
import { expectNothingLost, withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()

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
        '{"spec":{"settings":{"gtid_mode":"OFF"}}}',
      ),
    ).rejects.toThrow('gtid_mode')
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
      '{"spec":{"acks":3}}',
    ),
  ).rejects.toThrow('acks')

  const story = [
    /Warning +FailoverBegan /,
    new RegExp(
      `Normal +FailoverSucceeded .* promise .* committed revision \\d+, epoch ${toEpoch ?? 0}.* route moved to ${after}`,
    ),
    /Warning +RequestRefused .* no switchover: /,
    /Warning +RequestRefused .* not changed: .*gtid_mode/,
  ]
  const told = await cluster.until(
    () => 'the whole story in kubectl describe',
    async () => {
      const [, events = ''] = (await cluster.kubectl('describe', 'mysql', cluster.name)).split('\nEvents:')
      const since = events.slice(events.lastIndexOf('FailoverBegan') - 40)
      return story.every((chapter) => chapter.test(since)) && since
    },
  )
  const places = story.slice(0, 2).map((chapter) => told.search(chapter))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(told).not.toContain('FailoverStep')
  expect(told.match(/ no switchover: /g)).toHaveLength(1)
  // Either manager may have answered.
  expect(told.match(/ not changed: /g)?.length).toBeLessThanOrEqual(2)
  expect(told).not.toContain('acks')
  expect(await cluster.kubectl('get', 'mysql', cluster.name)).toContain(after)
  await expectNothingLost(writer)
})
