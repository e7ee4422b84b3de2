import { BlockList, isIP } from 'node:net'

/**
 * The proxy that the environment names for a server, as `kubectl` reads it (Go's `http.ProxyFromEnvironment`):
 * `HTTPS_PROXY` or `HTTP_PROXY` by the server's scheme, and none for what `NO_PROXY` lists or for this machine itself.
 * Upper case first, then lower case.
 */
export function proxyFromEnvironment(
  server: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const of = (name: string): string => env[name] || env[name.toLowerCase()] || ''
  const url = URL.parse(server)
  if (url === null) return undefined
  const proxy = of(url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY').trim()
  if (proxy === '' || isHere(hostOf(url)) || isListed(url, of('NO_PROXY'))) return undefined
  return proxy.includes('://') ? proxy : `http://${proxy}`
}

/** Without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return withoutBrackets(hostname)
}

function withoutBrackets(name: string): string {
  return name.replace(/^\[|\]$/g, '')
}

function isHere(host: string): boolean {
  return host === 'localhost' || contains('127.0.0.0/8', host) || contains('::1', host)
}

/**
 * Entries: `*`, an address, a range of addresses, a name with all names below it, `.name` with only those; each perhaps
 * with a port.
 */
function isListed(url: URL, list: string): boolean {
  const host = hostOf(url).toLowerCase()
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return list
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*' || contains(entry, host)) return true
      const [, name = entry, wantedPort = port] = /^(.*?):(\d+)$/.exec(entry) ?? []
      if (wantedPort !== port || (isIP(host) !== 0 && isIP(withoutBrackets(name)) === 0)) return false
      const below = name.replace(/^\*?\.?/, '.')
      return withoutBrackets(name) === host || host.endsWith(below)
    })
}

function contains(range: string, host: string): boolean {
  const [address = '', bits] = range.split('/')
  const [kind, hostKind] = [isIP(address), isIP(host)]
  if (kind === 0 || kind !== hostKind) return false
  const longest = kind === 4 ? 32 : 128
  const prefix = bits === undefined ? longest : Number(bits)
  if (!(Number.isInteger(prefix) && prefix >= 0 && prefix <= longest)) return false
  const list = new BlockList()
  const family = kind === 4 ? 'ipv4' : 'ipv6'
  list.addSubnet(address, prefix, family)
  return list.check(host, family)
}
