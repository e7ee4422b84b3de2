import { readdir, readlink } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { lifecycleDefaults } from './options.ts'
import { startLifecycle } from './run.ts'
import { silentLog } from './testing.ts'

async function openPipes(): Promise<number> {
  const names = await readdir('/proc/self/fd')
  const paths = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')))
  return paths.filter((path) => path.includes('regent-pipes-')).length
}

it('An agent that cannot start, and is tried again every ten seconds, leaves no pipes open', async () => {
  const options = {
    ...lifecycleDefaults,
    ...{ address: '127.0.0.1', port: 0, streamingPort: 0, unixSocket: undefined, tokenFile: undefined },
    ...{ apiLogging: false, logLevel: 'silent' },
  }
  const environment = {
    KB_AGENT_ACTION: '[{"name":"roleProbe","exec":{"command":["true"]}}]',
    KB_AGENT_PROBE: '[{"instance":"shop-mysql","action":"roleProbe"}]',
    // An API server to tell of probes, and no word of the pod that they are about.
    ...{ KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' },
  }
  const before = await openPipes()
  const start = () => startLifecycle(options, { environment, log: silentLog(), builtIn: [] })
  await expect(start()).rejects.toMatchObject({ code: 'REGENT_BAD_ENVIRONMENT' })
  expect(await openPipes()).toBe(before)
})
