import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { routerSettings } from '#failover/protocol/router-settings.ts'
import { findHaproxy } from '#local/packages/haproxy-binaries.ts'
import { haproxyConfig, haproxyScript } from '#router/haproxy-config.ts'
import { Haproxy } from '#router/haproxy.ts'
import { freePort } from './free-port.ts'

export interface RealHaproxy {
  readonly haproxy: Haproxy
  readonly folder: string
  readonly writePort: number
  readonly readPort: number
  /** What was logged. */
  readonly logged: string[]
}

/**
 * The real HAProxy, with the product's configuration and script, until the test ends.
 *
 * @param edited makes another configuration of that
 */
export async function realHaproxy(
  began: () => void = () => undefined,
  edited: (config: string) => string = (config) => config,
): Promise<RealHaproxy> {
  const folder = await mkdtemp(join(tmpdir(), 'real-haproxy-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = { config: join(folder, 'c.cfg'), script: join(folder, 'w.lua'), socket: join(folder, 'socket') }
  const [writePort, readPort] = [await freePort(), await freePort()]
  const settings = routerSettings({})
  const logged: string[] = []
  const haproxy = new Haproxy({
    argv: await findHaproxy(),
    files,
    config: edited(haproxyConfig(files, { hosts: ['127.0.0.1'], writePort, readPort }, settings)),
    script: haproxyScript('shop', settings.waitMs),
    log: (sentence) => logged.push(String(sentence)),
    began,
  })
  onTestFinished(() => haproxy.stop())
  await haproxy.start()
  return { haproxy, folder, writePort, readPort, logged }
}
