import { createServer } from 'node:net'

/** Clusters of tests take lower networks. */
const [firstNetwork, lastNetwork] = [200, 254]
/** Nothing else listens on it. */
const claimPort = 24_200

export interface OwnAddress {
  readonly host: string
  readonly release: () => void
}

/** A loopback address that no other test of this machine has: held by a socket, so that the end of a test lets go. */
export async function ownAddress(): Promise<OwnAddress> {
  for (let network = firstNetwork; network <= lastNetwork; network += 1) {
    const host = `127.24.${network}.1`
    const server = createServer().unref()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen({ host, port: claimPort, exclusive: true }, () => resolve(true))
    })
    if (isFree) return { host, release: () => void server.close() }
  }
  throw new Error(`no address 127.24.${firstNetwork}.1 to 127.24.${lastNetwork}.1 is free for a test`)
}
