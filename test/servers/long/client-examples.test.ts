import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { describeError } from '#common/errors/errors.ts'
import { readCluster, routerAddress } from '#local/folder/cluster-file.ts'
import { languageNames, prepareExample } from '#test/support/client-examples.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster({ flags: ['--router'] })
const run = promisify(execFile)

it.each(languageNames)(
  'The client in %s that the page shows writes all of its orders, each once, though the primary dies under it',
  async (language) => {
    const folder = await mkdtemp(join(tmpdir(), 'regent-client-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const prepared = await prepareExample(language, folder).catch((error: unknown) => {
      console.warn(`${language} is skipped: ${describeError(error)}`)
      return null
    })
    if (prepared === null) return
    const cluster = shop.current
    const { primary } = await cluster.whole()
    const { host } = routerAddress(await readCluster(cluster.layout.dir))
    const orders = async (name: string) =>
      Number(await cluster.value(name, 'select count(*) from app.orders').catch(() => 0))
    const before = await orders(primary ?? '')
    const [program = '', ...args] = [...prepared, host, cluster.layout.clientPassword]
    const running = run(program, args, { timeout: 200_000 })
    await cluster.until('orders are written', async () => (await orders(primary ?? '')) > before + 20, 120_000)
    await cluster.fault(primary ?? '', 'kill-mysqld')
    expect((await running).stdout.trim()).toBe('1000 orders are safe')
    const whole = await cluster.whole()
    expect(whole.primary).not.toBe(primary)
    for (const { name } of whole.instances)
      await cluster.until(`every order at ${name}`, async () => (await orders(name)) === before + 1_000)
  },
)
