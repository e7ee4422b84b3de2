import { describe, expect, test } from 'vitest'
import { replaceJson } from '#local/files/durable-file.ts'
import { writeBook } from '#local/processes/process-book.ts'
import { RoutesFile } from '#local/platform/routes.ts'
import { ensureSecrets, readSecret } from '#local/folder/secrets.ts'
import { layoutOf, mysqldPidPath, volumeOf } from '#local/folder/state-layout.ts'
import { clusterIn, idleProcess, temporaryFolder } from '#local/testing.ts'
import { ApiClient } from '#cli/connection/api-client.ts'
import { httpServer, row, topology } from '#cli/testing.ts'
import type { Io } from '#cli/terminal/io.ts'
import { localStatus, printStatus, renderStatus } from './status.ts'
import { inOrder } from './logs.ts'

async function shop() {
  const dir = await temporaryFolder()
  const layout = layoutOf(dir)
  await ensureSecrets(layout)
  return { dir, layout, cluster: clusterIn(dir) }
}

describe('the status of a local cluster', () => {
  test('has who listens where under which pid, and what role the manager says it has', async () => {
    const { dir, layout, cluster } = await shop()
    const [agent, mysqld] = [idleProcess(), idleProcess()]
    await writeBook(layout, {
      version: 1,
      supervisor: null,
      processes: { 'shop-0': agent, 'shop-1': { ...agent, startTicks: 1 } },
    })
    await replaceJson(mysqldPidPath(volumeOf(layout, 'shop-0')), { ...mysqld, bootId: 'x' })
    await new RoutesFile(layout.routes).publish({ epoch: 4, instance: 'shop-0', host: '127.24.198.1', port: 3306 })
    const view = topology({ name: 'shop', instances: [row('shop-0', { role: 'primary' }), row('shop-1')] })
    const port = Number(new URL(await httpServer(() => ({ status: 200, body: JSON.stringify(view) }))).port)
    const status = await localStatus(
      { dir, cluster: { ...cluster, api: { host: '127.0.0.1', port } } },
      (folder, { api }) =>
        ApiClient.open({ url: `http://${api.host}:${api.port}`, tokenFile: layoutOf(folder).apiToken }),
    )
    expect(status).toMatchObject({
      name: 'shop',
      api: `http://127.0.0.1:${port}`,
      tokenFile: layout.apiToken,
      client: { user: 'client', passwordFile: layout.clientPassword },
      state: 'unsupervised',
      writable: true,
      primary: { instance: 'shop-0', host: '127.24.198.1', port: 3306, epoch: 4 },
      instances: [
        { name: 'shop-0', host: '127.24.198.1', port: 3306, pid: mysqld.pid, agentPid: agent.pid, role: 'primary' },
        { name: 'shop-1', pid: null, agentPid: null, role: 'replica' },
        { name: 'shop-2', pid: null, agentPid: null, role: 'none' },
      ],
    })
  })

  test('can be read while the cluster is down, and shows no password to people', async () => {
    const { dir, layout, cluster } = await shop()
    const status = await localStatus({ dir, cluster })
    expect(status).toMatchObject({ state: 'down', writable: null, primary: null, supervisorPid: null })
    const text = renderStatus(status).join('\n')
    expect(text).toContain('shop is down; "regent local up shop" brings it back')
    expect(text).not.toContain(await readSecret(layout.clientPassword))
  })

  test.each(['text', 'json'] as const)('says the password only where it is asked for, as %s', async (output) => {
    const { dir, layout, cluster } = await shop()
    const printed: string[] = []
    const io: Io = {
      env: {},
      out: (line) => printed.push(line),
      note: () => undefined,
      colour: false,
      terminal: false,
      interrupted: () => AbortSignal.timeout(60_000),
    }
    const password = await readSecret(layout.clientPassword)
    await printStatus(io, { dir, cluster }, { output })
    expect(printed.join('\n')).not.toContain(password)
    await printStatus(io, { dir, cluster }, { output, showPassword: true })
    expect(printed.join('\n')).toContain(password)
  })
})

test('logs of several processes come in the order of their times, a crash behind what came before it', () => {
  const at = (second: number) => `{"time":"2026-01-01T00:00:0${second}.000Z"}`
  expect(
    inOrder([
      [at(1), at(4), 'crash'],
      [at(2), at(3)],
    ]),
  ).toEqual([at(1), at(2), at(3), at(4), 'crash'])
})
