import {
  channelOptions,
  isSameOption,
  type ChannelOption,
  type StoppedThread,
} from '#failover/protocol/channel-options.ts'
import type { ChangedSetting } from '#topology/snapshot/observation.ts'
import type { Row } from '../connections/statements.ts'
import { textOf } from '../connections/statements.ts'

/** All that the server says of the channel's options; of an option that its version does not know it says nothing. */
export const optionsStatement = `SELECT c.*, a.* FROM performance_schema.replication_connection_configuration c
  JOIN performance_schema.replication_applier_configuration a ON a.CHANNEL_NAME = c.CHANNEL_NAME
  WHERE c.CHANNEL_NAME = ''`

interface Wish {
  readonly encrypts: boolean
  readonly stopped: StoppedThread
  /** Also those that a new channel does not have by itself. */
  readonly isWhole?: boolean
}

interface ChangedOption {
  readonly option: ChannelOption
  readonly seen: string
}

/** Options that are otherwise than they are to be. */
export function changedOptionsIn(row: Row | undefined, encrypts: boolean): readonly ChangedOption[] {
  return channelOptions(encrypts).flatMap((option) => {
    const value = row?.[option.column]
    if (value === undefined) return []
    const seen = value === null ? 'NULL' : textOf(row, option.column)
    return isSameOption(seen, option.wanted) ? [] : [{ option, seen }]
  })
}

/** As they are reported. */
export function reported(changed: readonly ChangedOption[]): readonly ChangedSetting[] {
  return changed.map(({ option: { name, wanted }, seen }) => ({ name, seen, wanted }))
}

/** For the statement. */
export function optionsToSet(row: Row | undefined, { encrypts, stopped, isWhole = false }: Wish): readonly string[] {
  const changed = new Set(changedOptionsIn(row, encrypts).map(({ option }) => option))
  const ofThread = channelOptions(encrypts).filter((option) => option.stopped === stopped)
  const chosen = ofThread.filter((option) => changed.has(option) || (isWhole && option.isOwn))
  return chosen.map(({ name, sql }) => `${name} = ${sql}`)
}
