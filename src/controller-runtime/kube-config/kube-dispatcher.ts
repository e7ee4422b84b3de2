import { Agent, ProxyAgent, type Dispatcher } from 'undici'
import type { KubeConnection, TlsSettings } from './kube-config.ts'

/**
 * Connections to the API server, through the kubeconfig's proxy where it names one.
 * @param most so many at once; what finds none free waits for one. No limit unless given
 */
export function dispatcherFor({ proxyUrl }: KubeConnection, tls: TlsSettings, most?: number): Dispatcher {
  const connect = { ...tls, keepAlive: true, keepAliveInitialDelay: 10_000, timeout: 10_000 }
  // HTTP/1.1: with HTTP/2 one stuck connection would hold up every watch and write at once. Kept for less than the API
  // server's 90 s.
  const common = {
    allowH2: false,
    keepAliveTimeout: 60_000,
    keepAliveMaxTimeout: 80_000,
    ...(most !== undefined && { connections: most }),
  }
  return proxyUrl === undefined
    ? new Agent({ ...common, connect })
    : new ProxyAgent({ ...common, uri: proxyUrl, requestTls: connect })
}
