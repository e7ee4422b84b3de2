import type { Instance } from '../documents/instance.ts'
import type { Figures } from './figures.ts'

const formats = (f: Figures) => new Set(f.logging.map(({ Binlog_format }) => Binlog_format))
const hasBoth = (f: Figures, one: string, other: string) => formats(f).has(one) && formats(f).has(other)
const seriesOf = ({ Version }: Instance) => Version.split('.').slice(0, 2).join('.')

type Warning = readonly [name: string, holds: (figures: Figures) => boolean]

/** What of the structure below a master would hinder a failover, by orchestrator's words without their end. */
const ofMasters: readonly Warning[] = [
  ['NoLoggingReplicas', (f) => f.count > 1 && f.logging.length === 0],
  ['NoFailoverSupport', (f) => f.count > 1 && !f.supporting.every(({ UsingOracleGTID }) => UsingOracleGTID)],
  ['StatementAndMixedLoggingReplicas', (f) => hasBoth(f, 'STATEMENT', 'MIXED')],
  ['StatementAndRowLoggingReplicas', (f) => hasBoth(f, 'STATEMENT', 'ROW')],
  ['MixedAndRowLoggingReplicas', (f) => hasBoth(f, 'MIXED', 'ROW')],
  ['MultipleMajorVersionsLoggingReplicas', (f) => new Set(f.logging.map(seriesOf)).size > 1],
  ['NoWriteableMaster', ({ isValid, server: { instance } }) => isValid && instance.ReadOnly],
  ['NotEnoughValidSemiSyncReplicas', ({ server: { instance } }) => isShortOfReplicas(instance)],
]

/** The same of the replicas of any source. */
const ofSources: readonly Warning[] = [
  ['DifferentGTIDModes', (f) => f.replicas.some(({ GTIDMode }) => GTIDMode !== f.server.instance.GTIDMode)],
  ['ErrantGTID', (f) => f.replicas.some(({ GtidErrant, IsDowntimed }) => GtidErrant !== '' && !IsDowntimed)],
]

/** The source goes on without acknowledgements. */
function isShortOfReplicas(one: Instance): boolean {
  const isOff = one.SemiSyncMasterEnabled && !one.SemiSyncMasterStatus
  return isOff && one.SemiSyncMasterClients < one.SemiSyncMasterWaitForReplicaCount
}

export function structureWarningsOf(figures: Figures): readonly string[] {
  return [...(figures.isMaster ? ofMasters : []), ...ofSources]
    .filter(([, holds]) => holds(figures))
    .map(([name]) => `${name}StructureWarning`)
}
