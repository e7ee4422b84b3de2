import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { LifecycleConfig } from './instance/config.ts'
import { succeeded } from './lifecycle/wire/calls.ts'
import { serveLifecycle } from './serve-lifecycle.ts'
import { anAgentConfig } from './testing.ts'

/** What an agent says that serves this, and what has its next try begin. */
function serve(lifecycle: LifecycleConfig | undefined) {
  const lines: { readonly msg: string; readonly address?: string }[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as { msg: string }) }
  const log = createLogger({ level: 'info', name: 'test', destination })
  const waiting: (() => void)[] = []
  const sleep = (_ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.push(resolve)
      signal?.addEventListener('abort', () => reject(new Error('stopped')))
    })
  const config = anAgentConfig({ host: '127.0.0.1', ...(lifecycle && { lifecycle }) })
  const builtIn = () => [{ name: 'roleProbe', run: async () => succeeded(Buffer.from('primary')) }]
  const end = serveLifecycle(config, { builtIn, world: { timers: { ...realWorld.timers, sleep } }, log })
  return { lines, end, waits: () => waiting.length, again: () => waiting.shift()?.() }
}

it('An agent that cannot serve lifecycle actions goes on, says why once, and serves them as soon as it can', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'regent-lifecycle-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const tokenFile = join(folder, 'token')
  const agent = serve({ tokenFile, port: 0, streamingPort: 0 })
  onTestFinished(() => agent.end())
  for (let tries = 0; tries < 2; tries += 1) {
    await expect.poll(agent.waits).toBe(1)
    agent.again()
  }
  await expect.poll(agent.waits).toBe(1)
  expect(agent.lines.map(({ msg }) => msg)).toEqual([
    expect.stringMatching(
      /^lifecycle actions are not served, which is tried again every 10 s: token file .* cannot be read/,
    ),
  ])
  await writeFile(tokenFile, 'a-token-of-this-test', { mode: 0o600 })
  agent.again()
  await expect.poll(() => agent.lines.at(-1)?.msg).toBe('HTTP listens')
  const address = agent.lines.at(-1)?.address ?? ''
  const answer = await fetch(`http://${address}/v1.0/action`, { method: 'POST', body: '{"action":"nothing"}' })
  expect(answer.status).toBe(401)
})

it('An agent that ends before it serves anything does not wait for that', async () => {
  const agent = serve({ tokenFile: '/nowhere', port: 0, streamingPort: 0 })
  await expect.poll(agent.waits).toBe(1)
  await agent.end()
  await serve(undefined).end()
})
