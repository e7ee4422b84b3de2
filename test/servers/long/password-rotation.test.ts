import { writeFile } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { orderVersion } from '#failover/protocol/message.ts'
import { type PasswordsWish, orders } from '#failover/protocol/order.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import { createHttpTransport } from '#common/http/http-transport.ts'
import { readSecret } from '#local/folder/secrets.ts'
import { deafenReplicas } from '#test/support/deaf-replicas.ts'
import { runEpisode } from '#test/support/episode.ts'
import { logOf } from '#test/support/instance-files.ts'
import { openSession } from '#test/support/sql-session.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()
const users = ['client', 'admin'] as const
const first = ''
const second = 'a2'
const third = 'a3'

/** What the manager sends while the primary has other passwords than it should. */
async function order(wish: PasswordsWish): Promise<void> {
  const cluster = shop.current
  const [view, recoveries] = await Promise.all([cluster.view(), cluster.recoveries()])
  const [member] = recoveries.map(({ to }) => to).filter((to) => to !== null)
  const { host } = await cluster.instance(await cluster.primary())
  const transport = createHttpTransport({ token: await readSecret(cluster.layout.agentToken) })
  onTestFinished(() => transport.close())
  await transport.post(
    `${host}:9400`,
    orders.passwords.route,
    { version: orderVersion, cluster: 'shop', member, epoch: view.epoch, revision: view.revision, ...wish },
    5_000,
  )
}

/**
 * Whether an account is let in with the password of a generation; throws where it is neither let in nor refused for its
 * password.
 */
async function isLetIn(instance: string, user: string, generation: string): Promise<boolean> {
  const cluster = shop.current
  const { host, port } = await cluster.instance(instance)
  const password = passwordFor(await readSecret(cluster.layout.accountSecret), user, generation)
  try {
    const session = await openSession({ host, port, user, password }, 2_000)
    session.destroy()
    return true
  } catch (error) {
    if ((error as { errno?: number }).errno === 1045) return false
    throw error
  }
}

/** The generations with which both accounts are let in, by instance. */
async function accepted(generations: readonly string[]): Promise<Readonly<Record<string, readonly string[]>>> {
  const cluster = shop.current
  const found: Record<string, readonly string[]> = {}
  for (const name of (await cluster.view()).instances.map((row) => row.name)) {
    const by = await Promise.all(
      generations.map(async (generation) =>
        (await Promise.all(users.map((user) => isLetIn(name, user, generation)))).every(Boolean),
      ),
    )
    found[name] = generations.filter((_, index) => by[index])
  }
  return found
}

const everywhere = (names: readonly string[], generations: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, generations]))
const three = ['shop-0', 'shop-1', 'shop-2']

async function untilAccepted(names: readonly string[], generations: readonly string[]): Promise<void> {
  await shop.current.until(
    `${names.join()} accept ${generations.join()}`,
    async () =>
      JSON.stringify(await accepted([first, second, third])) === JSON.stringify(everywhere(names, generations)),
    20_000,
  )
}

/** The tests' own sessions log in with what is kept here. */
async function usePasswordsOf(generation: string): Promise<void> {
  const { layout } = shop.current
  const secret = await readSecret(layout.accountSecret)
  await writeFile(layout.clientPassword, passwordFor(secret, 'client', generation))
  await writeFile(layout.adminPassword, passwordFor(secret, 'admin', generation))
}

it('New passwords are right beside the old ones at every instance, also after a failover', async () => {
  const cluster = shop.current
  await cluster.whole()
  expect(await accepted([first, second])).toEqual(everywhere(three, [first]))
  await order({ generation: second, old: 'kept' })
  await untilAccepted(three, [first, second])
  const writer = await Writer.start(cluster)
  await runEpisode(cluster, writer, 'kill')
  await cluster.whole()
  expect(await accepted([first, second])).toEqual(everywhere(three, [first, second]))
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('Said once more, as after the death of a manager, it keeps the old ones: what MySQL has is not changed again', async () => {
  await order({ generation: second, old: 'kept' })
  await order({ generation: second, old: 'kept' })
  await shop.current.whole()
  expect(await accepted([first, second])).toEqual(everywhere(three, [first, second]))
})

it('Once the old ones are to be discarded only the new ones are right, at every instance', async () => {
  await usePasswordsOf(second)
  await order({ generation: second, old: 'discarded' })
  await untilAccepted(three, [second])
})

it('An instance that is added has the new ones', async () => {
  const cluster = shop.current
  await cluster.scale(4)
  await cluster.whole(4)
  expect(await accepted([first, second])).toEqual(everywhere([...three, 'shop-3'], [second]))
  await cluster.scale(3)
  await cluster.whole()
})

it('Where nobody can acknowledge nothing is changed and everybody can log in; it is done as soon as somebody can', async () => {
  const cluster = shop.current
  const names = (await cluster.view()).instances.map((row) => row.name)
  const deaf = await deafenReplicas(cluster)
  await order({ generation: third, old: 'kept' })
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  const primary = await cluster.primary()
  expect(await Promise.all(users.map((user) => isLetIn(primary, user, second)))).toEqual([true, true])
  expect(await Promise.all(users.map((user) => isLetIn(primary, user, third)))).toEqual([false, false])
  await deaf.end()
  await untilAccepted(names, [second, third])
})

it('No password is in what the agents write', async () => {
  const cluster = shop.current
  const secret = await readSecret(cluster.layout.accountSecret)
  const passwords = [second, third].flatMap((generation) => users.map((user) => passwordFor(secret, user, generation)))
  for (const name of three) {
    const log = await logOf(cluster, name)
    expect(passwords.filter((password) => log.includes(password))).toEqual([])
  }
})
