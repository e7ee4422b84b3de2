import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { namesOf } from '#kube/names/names.ts'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import { expectNothingLost, withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()

it.each([
  ['a setting that safety rests on', { settings: { gtid_mode: 'OFF' } }, /gtid_mode/],
  ['as many acknowledgements as instances', { acks: 3 }, /acks counts replicas/],
  ['a volume that shrinks', { storage: { size: '1Mi' } }, /cannot shrink/],
  ['another mode', { mode: 'galera' }, /mode/],
  ['an image that is too old', { image: 'mysql:5.7.44' }, /8\.0\.26|5\.7/],
  ['an image of nothing', { image: '' }, /image/],
])('%s is refused with a sentence', async (_what, spec, sentence) => {
  await expect(
    demo.current.kubectl('patch', 'mysql', demo.current.name, '--type', 'merge', '--patch', JSON.stringify({ spec })),
  ).rejects.toThrow(sentence)
})

it('nothing is done with a record that somebody forged: the managers say so, writes go on, and all is well once it is mended', async () => {
  const cluster = demo.current
  const writer = await Writer.start(cluster)
  const name = `${cluster.name}-record`
  const genuine = await cluster.kubectl('get', 'configmap', name, '-o', 'jsonpath={.data}')
  const primary = await cluster.primary()
  await cluster.kubectl(
    'patch',
    'configmap',
    name,
    '--type',
    'merge',
    '--patch',
    JSON.stringify({ data: { revision: 'many', text: '{}' } }),
  )
  try {
    await expect(cluster.regent('switchover', cluster.name, '--timeout', '5s')).rejects.toThrow(/REGENT_/)
    const said = async () => (await cluster.view()).sentence.includes(name)
    await cluster.until(() => 'a sentence about the record', said)
    for (let looks = 0; looks < 10; looks++, await sleep(300)) expect(await said()).toBe(true)
    await writer.next()
    expect(await cluster.primary()).toBe(primary)
  } finally {
    await cluster.kubectl(
      'patch',
      'configmap',
      name,
      '--type',
      'merge',
      '--patch',
      JSON.stringify({ data: JSON.parse(genuine) as object }),
    )
  }
  await cluster.whole()
  await expectNothingLost(writer)
})

it('a record that somebody deletes is made again while everybody can still answer, and not when the primary is dead', async () => {
  const cluster = demo.current
  await cluster.whole()
  const { epoch } = await cluster.view()
  const writer = await Writer.start(cluster)
  const atMs = monotonicMs()
  await cluster.kubectl('delete', 'configmap', namesOf(cluster.name).record)
  await cluster.until(
    () => 'a record of a newer epoch',
    async () => (await cluster.view()).epoch > epoch,
  )
  await cluster.whole()
  await cluster.kubectl('get', 'configmap', namesOf(cluster.name).record)
  await writer.next()
  expectBelow(10_000, writer.longestPause(atMs).pauseMs)
  await expectNothingLost(writer)
})
