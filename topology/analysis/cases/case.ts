import { analyse } from '../analyse.ts'
import type { Expected } from '../analysis-input.ts'
import { aSnapshot, type SnapshotShape, type ViewOverrides } from '#topology/testing.ts'

/** A row of the tables in this folder: what a healthy cluster of three is made into, and all that is then found. */
export interface Case {
  readonly views?: Readonly<Record<string, ViewOverrides>>
  readonly expected?: Partial<Expected>
  readonly shape?: SnapshotShape
  /** In order, each as `code severity instance: sentence`. */
  readonly findings: readonly string[]
}

/** By title, by group. */
export type Cases = Readonly<Record<string, Readonly<Record<string, Case>>>>

const healthy: Expected = {
  primary: 'shop-0',
  epoch: 1,
  revision: 1,
  syncSet: ['shop-1', 'shop-2'],
  acks: 1,
  fenced: [],
  paused: false,
}
export const beforeAnyRecord: Expected = { ...healthy, primary: null, epoch: 0, revision: 0, syncSet: [], acks: 0 }

/** The agent was never given an order. */
export const fresh: ViewOverrides = { stored: { promise: 0, revision: 0, assignment: null } }
export const lost: ViewOverrides = {
  server: { channel: { ioRunning: 'connecting', ioError: 'error connecting to source' } },
}

export function findingsOf({ views, expected, shape }: Omit<Case, 'findings'>): readonly string[] {
  const findings = analyse(aSnapshot(views, shape), { ...healthy, ...expected }, { frozenMs: 1_200, maxLagSeconds: 30 })
  return findings.map(
    ({ code, severity, instance, sentence }) => `${code} ${severity} ${instance ?? '-'}: ${String(sentence)}`,
  )
}
