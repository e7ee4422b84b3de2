/** `10.0.0.1:3306`, `shop-0:3306`, `[::1]:3306` (RFC 3986, 3.2.2). @param host without brackets */
export function hostPort(host: string, port: number | string): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
