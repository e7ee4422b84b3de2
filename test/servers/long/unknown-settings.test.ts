import { readFile, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { agentConfigPath } from '#local/folder/state-layout.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { troublesOf } from '#test/support/troubles.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()

async function setIn(
  cluster: TestCluster,
  instance: string,
  serverSettings: Readonly<Record<string, string>>,
): Promise<void> {
  const path = agentConfigPath(cluster.layout, instance)
  const before = JSON.parse(await readFile(path, 'utf8')) as object
  const allowUnclassified = Object.keys(serverSettings).filter((name) => name.startsWith('bogus_'))
  await writeFile(path, JSON.stringify({ ...before, serverSettings, allowUnclassified }))
}

async function newAgent(cluster: TestCluster, instance: string): Promise<void> {
  await cluster.fault(instance, 'kill-agent')
  await cluster.fault(instance, 'start')
}

const refusal = "refuses its settings: unknown variable 'bogus_setting=1'"

it('A setting that mysqld does not know is named in its words while the old server runs on, and keeps that instance alone from starting', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const name = (await cluster.replicas())[0] ?? ''
  const { pid } = await cluster.instance(name)
  await setIn(cluster, name, { bogus_setting: '1' })
  await newAgent(cluster, name)
  const problems = async () => troublesOf((await cluster.view()).instances, name)
  const says = (words: string) =>
    cluster.until(`${name} says: ${words}`, async () => (await problems()).includes(words), 60_000)
  await says(`${refusal}; it runs on with those of before`)
  expect((await cluster.instance(name)).pid).toBe(pid)
  await cluster.whole()
  await cluster.fault(name, 'kill-mysqld')
  await says(`${refusal}; it is not started`)
  await writer.next()
  const explained = await cluster.regent('explain', 'shop')
  expect(explained.stdout).toContain(`SettingsRefused  mysqld of ${name} ${refusal}`)

  await setIn(cluster, name, { long_query_time: '3' })
  await newAgent(cluster, name)
  await cluster.whole()
  expect(Number(await cluster.value(name, 'select @@global.long_query_time'))).toBe(3)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('"local up" refuses a setting that mysqld does not know at once, and changes nothing', async () => {
  const cluster = shop.current
  await cluster.whole()
  expect(await cluster.regent('local', 'down', 'shop')).toMatchObject({ code: 0 })
  await setIn(cluster, 'shop-1', { bogus_setting: '1' })
  const refused = await cluster.regent('local', 'up', 'shop')
  expect(refused).toMatchObject({ code: 2 })
  expect(refused.stderr).toMatch(
    /mysqld of shop-1 refuses the serverSettings in \S*agent\.json: unknown variable 'bogus_setting=1'; nothing was changed/,
  )
  expect((await cluster.regent('local', 'list')).stdout).toMatch(/shop .*down/)
  await setIn(cluster, 'shop-1', { innodb_page_size: '32k' })
  const unfit = await cluster.regent('local', 'up', 'shop')
  expect(unfit).toMatchObject({ code: 2 })
  expect(unfit.stderr).toMatch(
    /mysqld of shop-1 would not start with the serverSettings in \S*agent\.json: the data was made with innodb_page_size 16384, and 32768 is another.*nothing was changed/,
  )
  await setIn(cluster, 'shop-1', { long_query_time: '4' })
  expect(await cluster.regent('local', 'up', 'shop')).toMatchObject({ code: 0 })
  await cluster.whole()
  expect(Number(await cluster.value('shop-1', 'select @@global.long_query_time'))).toBe(4)
})
