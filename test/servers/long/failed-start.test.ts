import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runRegent } from '#test/support/cluster.ts'
import { freePort } from '#test/support/free-port.ts'

it('A cluster whose store cannot be reached says what the log says, and leaves nothing running', async () => {
  const home = await mkdtemp(join(tmpdir(), 'regent-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const port = String(await freePort())
  const ran = await runRegent(
    home,
    ['local', 'up', 'shop', '--instances', '1', '--port', port, '--store', 'redis://127.0.0.1:1'],
    { deadlineMs: 120_000 },
  )
  expect(ran.code).not.toBe(0)
  expect(ran.stderr).toMatch(/the logs say:\n.*manager: /s)
  const status = await runRegent(home, ['local', 'status', 'shop', '-o', 'json'], { deadlineMs: 10_000 })
  expect(JSON.parse(status.stdout)).toMatchObject({
    state: 'down',
    supervisorPid: null,
    managerPid: null,
    instances: [{ pid: null, agentPid: null }],
  })
  expect(await runRegent(home, ['local', 'down', 'shop', '--purge'], { deadlineMs: 10_000 })).toMatchObject({
    code: 0,
  })
})
