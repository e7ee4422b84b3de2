import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createLogger } from '#common/log/logger.ts'
import { routerSettings } from '#failover/protocol/router-settings.ts'
import { serve } from './serve.ts'

it('A router whose HAProxy does not start ends when it is told to, and says what it does not remember', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'router-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'x'.repeat(40), { mode: 0o600 })
  const log = createLogger({ level: 'silent', name: 'router' })
  const said = vi.spyOn(log, 'info')
  const warned = vi.spyOn(log, 'warn')
  await writeFile(join(folder, 'epoch.json'), '{"version":1,')
  const served = serve({
    ...{ cluster: 'shop', settings: routerSettings({}), folder, haproxy: ['/bin/false'], tokenFile, log },
    address: { hosts: ['127.0.0.1'], writePort: 3306, readPort: 3307 },
    endsWithinMs: 0,
    source: async () => undefined,
  })
  await vi.waitFor(() => expect(said).toHaveBeenCalledWith(expect.stringContaining('does not start')))
  expect(warned).toHaveBeenCalledWith(
    expect.stringMatching(/^this router begins as if it had never led: .*epoch\.json/),
  )
  process.emit('SIGTERM')
  await served
  expect(said).toHaveBeenLastCalledWith('router stops, and its sessions end')
})
