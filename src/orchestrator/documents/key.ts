/** How orchestrator names a server. */
export interface Key {
  readonly Hostname: string
  readonly Port: number
}

export const nobody: Key = { Hostname: '', Port: 0 }

/** `host:port` */
export function keyText({ Hostname, Port }: Key): string {
  return `${Hostname}:${Port}`
}

export function isSameKey(one: Key, other: Key): boolean {
  return one.Hostname === other.Hostname && one.Port === other.Port
}
