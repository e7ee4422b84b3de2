import { readFile, rm, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { readRoute } from '#local/platform/routes.ts'
import { askSupervisor } from '#local/supervisor/control.ts'
import { managerProcess } from '#local/supervisor/supervisor.ts'
import { logOf } from '#test/support/instance-files.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const shop = withCluster()

const byHand: Readonly<Record<string, (text: string) => string | undefined>> = {
  removed: () => undefined,
  'overwritten with junk': () => 'not even JSON',
  'given another address': (text) => text.replace(/"host": "[^"]*"/, '"host": "10.9.9.9"'),
  'given an epoch that no record has': (text) => text.replace(/"epoch": \d+/, '"epoch": 999'),
}

it.each(Object.entries(byHand))(
  'The published address of the primary, %s by hand, is right again within a second, and that is told',
  async (_, change) => {
    const cluster = shop.current
    const { routes } = cluster.layout
    const right = await readRoute(routes)
    const [text, logged] = [await readFile(routes, 'utf8'), await logOf(cluster, managerProcess)]
    const changed = change(text)
    if (changed === undefined) await rm(routes)
    else await writeFile(routes, changed)
    const began = monotonicMs()
    await cluster.until(
      'the address is right again',
      async () => (await readFile(routes, 'utf8').catch(() => '')) === text,
    )
    expectBelow(1_000, monotonicMs() - began)
    expect(await readRoute(routes)).toEqual(right)
    const told = () =>
      logOf(cluster, managerProcess).then((log) => log.slice(logged.length).includes('routes.json was'))
    await cluster.until('the log tells it', told)
    expect((await cluster.explain()).reasons).toEqual(
      expect.arrayContaining([expect.stringMatching(/^\d+ s ago: .*routes\.json was .* by another hand/)]),
    )
  },
)

it('The command line tells what each agent looks after, and that all looks went well', async () => {
  const cluster = shop.current
  const told = async () => (await cluster.regent('explain', cluster.name, '--agents')).stdout
  const looks = /^ {2}\S+ +locks in the way +250 ms +\d+ ms ago, took \d+ ms +fine$/gm
  await cluster.until('each agent tells of its looks', async () => (await told()).match(looks)?.length === 3)
  expect(await told()).not.toMatch(/failed:|says nothing/)
})

it('A manager that began anew keeps the address right too, although it has published nothing', async () => {
  const cluster = shop.current
  const { routes } = cluster.layout
  const text = await readFile(routes, 'utf8')
  const manager = (command: 'start' | 'stop') =>
    askSupervisor(cluster.layout.control, { command, process: managerProcess }, 30_000)
  await manager('stop')
  await manager('start')
  await cluster.until('the new manager answers', () =>
    cluster.view().then(
      ({ writable }) => writable,
      () => false,
    ),
  )
  await cluster.whole()
  // What a manager reads when it begins must not be what puts the address right.
  await sleep(5_000)
  await rm(routes)
  await cluster.until(
    'the address is there again',
    async () => (await readFile(routes, 'utf8').catch(() => '')) === text,
  )
})

it('An address from an epoch that no record has stands in the way of no switchover', async () => {
  const cluster = shop.current
  const { routes } = cluster.layout
  await writeFile(routes, (await readFile(routes, 'utf8')).replace(/"epoch": \d+/, '"epoch": 999'))
  await cluster.whole()
  await cluster.switchover()
  const { epoch, primary } = await cluster.view()
  await cluster.until('the new primary is published', async () => (await readRoute(routes))?.epoch === epoch)
  expect(await readRoute(routes)).toMatchObject({ epoch, instance: primary })
})
