import type { Observation } from './observation.ts'

/**
 * `8.4` of `8.4.6`: what MySQL calls a series. Replication from an older series to a newer one is supported, the other
 * way round it is not (manual, "Replication Compatibility Between MySQL Versions").
 */
export interface Series {
  readonly name: string
  /** Grows from series to series. */
  readonly rank: number
}

/** Undefined where the server has not said its version. */
export function seriesOf({ server }: Pick<Observation, 'server'>): Series | undefined {
  const [name, major, minor] = /^(\d+)\.(\d+)\./.exec(server?.version ?? '') ?? []
  return name === undefined ? undefined : { name: name.slice(0, -1), rank: Number(major) * 1_000 + Number(minor) }
}

/** Negative when `a` is of an older series than `b`; 0 where one of them is not known. */
export function compareSeries(a: Series | undefined, b: Series | undefined): number {
  return a === undefined || b === undefined ? 0 : a.rank - b.rank
}
