import type { Channel } from './observation.ts'

/** Seconds that a replica applies later, on purpose, than it receives: somebody set it so. 0 for none. */
export function delaySecondsOf(channel: Channel | null | undefined): number {
  const delay = channel?.changedOptions?.find(({ name }) => name === 'SOURCE_DELAY')
  return delay === undefined ? 0 : Number(delay.seen)
}
