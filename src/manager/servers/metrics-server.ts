import type { Registry } from 'prom-client'
import type { Logger } from '#common/log/logger.ts'
import type { ListenAddress } from '../options/listen-address.ts'
import { plainServer, type PlainServer } from './plain.ts'

export interface MetricsServerParts {
  readonly address: ListenAddress
  /** No two may have a metric of the same name. */
  readonly registries: readonly Pick<Registry, 'metrics'>[]
  readonly log: Logger
}

/** `/metrics` for Prometheus: what all the registries hold, one after the other. */
export function metricsServer({ address, registries, log }: MetricsServerParts): PlainServer {
  const metrics = async () => {
    const texts = await Promise.all(registries.map((registry) => registry.metrics()))
    return {
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      body: texts.map((text) => (text.endsWith('\n') ? text : `${text}\n`)).join(''),
    }
  }
  return plainServer({
    name: 'metrics server',
    address,
    option: '--metrics-port',
    routes: { '/metrics': metrics },
    log,
  })
}
