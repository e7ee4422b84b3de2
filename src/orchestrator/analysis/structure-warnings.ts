import type { Instance } from '../documents/instance.ts'
import type { Figures } from './figures.ts'

const formats = (f: Figures) => new Set(f.logging.map(({ Binlog_format }) => Binlog_format))
const hasBoth = (f: Figures, one: string, other: string) => formats(f).has(one) && formats(f).has(other)
const seriesOf = ({ Version }: Instance) => Version.split('.').slice(0, 2).join('.')

/** What of the structure below a source would hinder a failover, by orchestrator's words without their end. */
const warnings: readonly (readonly [string, (figures: Figures) => boolean])[] = [
  ['NoLoggingReplicas', (f) => f.isMaster && f.count > 1 && f.logging.length === 0],
  [
    'NoFailoverSupport',
    (f) => f.isMaster && f.count > 1 && !f.supporting.every(({ UsingOracleGTID }) => UsingOracleGTID),
  ],
  ['StatementAndMixedLoggingReplicas', (f) => f.isMaster && hasBoth(f, 'STATEMENT', 'MIXED')],
  ['StatementAndRowLoggingReplicas', (f) => f.isMaster && hasBoth(f, 'STATEMENT', 'ROW')],
  ['MixedAndRowLoggingReplicas', (f) => f.isMaster && hasBoth(f, 'MIXED', 'ROW')],
  ['MultipleMajorVersionsLoggingReplicas', (f) => f.isMaster && new Set(f.logging.map(seriesOf)).size > 1],
  // Not of masters alone: these say something of the replicas of any source.
  ['DifferentGTIDModes', (f) => f.replicas.some(({ GTIDMode }) => GTIDMode !== f.server.instance.GTIDMode)],
  ['ErrantGTID', (f) => f.replicas.some(({ GtidErrant, IsDowntimed }) => GtidErrant !== '' && !IsDowntimed)],
  ['NoWriteableMaster', ({ isMaster, isValid, server: { instance } }) => isMaster && isValid && instance.ReadOnly],
  ['NotEnoughValidSemiSyncReplicas', ({ isMaster, server: { instance } }) => isMaster && isShortOfReplicas(instance)],
]

/** The source goes on without acknowledgements. */
function isShortOfReplicas(one: Instance): boolean {
  const isOff = one.SemiSyncMasterEnabled && !one.SemiSyncMasterStatus
  return isOff && one.SemiSyncMasterClients < one.SemiSyncMasterWaitForReplicaCount
}

export function structureWarningsOf(figures: Figures): readonly string[] {
  return warnings.filter(([, holds]) => holds(figures)).map(([name]) => `${name}StructureWarning`)
}
