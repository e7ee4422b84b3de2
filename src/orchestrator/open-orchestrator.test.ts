import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { memoryClusters } from '#manager/api/testing.ts'
import { openOrchestrator } from './open-orchestrator.ts'

test('Who changes the login in its file has changed it: the old one is let in no more', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'regent-login-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const loginFile = join(folder, 'login')
  const write = (login: string) => writeFile(loginFile, `${login}\n`, { mode: 0o600 })
  await write('ann:secret-of-ann-12')
  const log = createLogger({ level: 'info', name: 'test', destination: { write: () => undefined } })
  const parts = { clusters: memoryClusters(), log, timers: realWorld.timers, token: 'token-0123456789abcdef' }
  const address = { host: '127.0.0.1', port: 0, hostNames: 'name', readOnly: false, loginFile } as const
  const app = await openOrchestrator(address, parts)
  onTestFinished(() => app.close())
  const asking = async (login: string) => {
    const authorization = `Basic ${Buffer.from(login).toString('base64')}`
    return (await app.inject({ method: 'GET', url: '/api/clusters', headers: { authorization } })).statusCode
  }
  expect([await asking('ann:secret-of-ann-12'), await asking('eve:secret-of-eve-34')]).toEqual([200, 401])
  await write('eve:secret-of-eve-34')
  expect([await asking('ann:secret-of-ann-12'), await asking('eve:secret-of-eve-34')]).toEqual([401, 200])
  // Nobody is let in because a file is away.
  await rm(loginFile)
  expect([await asking('ann:secret-of-ann-12'), await asking('eve:secret-of-eve-34')]).toEqual([401, 200])
})
