import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { routerSettings, type SaidOfRouter } from '#failover/protocol/router-settings.ts'
import { findHaproxy } from '#local/packages/haproxy-binaries.ts'
import { haproxyConfig, haproxyScript } from '#router/haproxy-config.ts'
import { Haproxy } from '#router/haproxy.ts'
import { freePort } from './free-port.ts'

export interface RealHaproxy {
  readonly haproxy: Haproxy
  /** The file with what HAProxy writes to its standard output. */
  readonly output: string
  readonly writePort: number
  readonly readPort: number
  /** What was logged. */
  readonly logged: string[]
}

export interface RealHaproxyOptions {
  readonly settings?: SaidOfRouter
  /** Makes another configuration of that. */
  readonly edited?: (config: string) => string
}

/** The real HAProxy, with the product's configuration and script, until the test ends. */
export async function realHaproxy({
  settings: saidOfRouter = {},
  edited = (config) => config,
}: RealHaproxyOptions = {}): Promise<RealHaproxy> {
  const folder = await mkdtemp(join(tmpdir(), 'real-haproxy-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = { config: join(folder, 'c.cfg'), script: join(folder, 'w.lua'), socket: join(folder, 'socket') }
  const [writePort, readPort] = [await freePort(), await freePort()]
  const output = join(folder, 'output')
  const settings = routerSettings(saidOfRouter)
  const logged: string[] = []
  const haproxy = new Haproxy({
    argv: ['sh', '-c', 'exec "$@" 3>>"$0"', output, ...(await findHaproxy())],
    files,
    config: edited(haproxyConfig(files, { hosts: ['127.0.0.1'], writePort, readPort }, settings)),
    script: haproxyScript('shop', settings.waitMs),
    log: (sentence) => logged.push(String(sentence)),
    failed: (sentence) => logged.push(String(sentence)),
    began: () => undefined,
  })
  onTestFinished(() => haproxy.stop())
  await haproxy.start()
  return { haproxy, output, writePort, readPort, logged }
}
