import { counted, heard, joined, mebibytes, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import type { Analysis, AnalysisCode } from './analysis.ts'
import { critical, info, warning, type AnalysisInput } from './analysis-input.ts'
import { isHeard, type HeardView } from './instance-state.ts'
import { delaySecondsOf } from '../snapshot/channel-delay.ts'
import type { ChangedSetting, WriteProbe } from '../snapshot/observation.ts'
import { refusesSettings } from '../snapshot/refused-settings.ts'
import { compareSeries, seriesOf } from '../snapshot/series.ts'

/**
 * From here on it is time to act: past 999999 the server compares file names as strings and semi-sync switches itself
 * off.
 */
const highBinlogNumber = 900_000

/** What is wrong with single servers, whatever their role: their disks, limits and settings. */
export function analyseServers(input: AnalysisInput): readonly Analysis[] {
  const heard = input.snapshot.instances.filter(isHeard)
  return [
    ...heard.flatMap((view) => [
      ...analyseProbe(view, input),
      ...analyseRefusedSettings(view),
      ...analyseFailedStart(view, input),
      ...analyseUnclassified(view),
      ...analyseNeeds(view),
      ...analyseSettings(view),
    ]),
    ...analyseVersions(heard, input),
  ]
}

/** Several series at once are a rolling update; a newer primary than some replica is what MySQL does not support. */
function analyseVersions(heard: readonly HeardView[], { expected }: AnalysisInput): readonly Analysis[] {
  const known = heard.flatMap(({ name, observation }) => {
    const series = seriesOf(observation)
    return series === undefined ? [] : [{ name, series }]
  })
  const all = [...new Map(known.map(({ series }) => [series.name, series])).values()].toSorted(compareSeries)
  if (all.length < 2) return []
  const primary = known.find(({ name }) => name === expected.primary)
  const older = known.filter(({ series }) => compareSeries(series, primary?.series) < 0)
  const who = all.map((each) => {
    const names = known.filter(({ series }) => series.name === each.name).map(({ name }) => name)
    return say`${each.name} (${names.join(', ')})`
  })
  const mixed = say`instances run different series of MySQL: ${joined(who, ', ')}`
  if (primary === undefined || older.length === 0)
    return [
      info(
        'MixedVersions',
        null,
        say`${mixed}; one of the oldest leads until all are updated, since an older replica cannot follow a newer primary`,
      ),
    ]
  return older.map(({ name, series }) => {
    const follows = say`${name} runs MySQL ${series.name} and follows primary ${primary.name} of ${primary.series.name}`
    return warning(
      'MixedVersions',
      name,
      say`${follows}: MySQL does not support an older replica of a newer source; update ${name}`,
    )
  })
}

const probeFindings: Readonly<Record<WriteProbe, readonly [AnalysisCode, Sentence] | null>> = {
  ok: null,
  unknown: null,
  stuck: null,
  locked: ['GlobalLock', say`a lock is in the way of writes, or of what Regent must do`],
  diskFull: ['DiskFull', say`its disk is full`],
  lowSpace: ['LowSpace', say`it was closed to writes before its disk is full`],
  readOnlyFilesystem: ['ReadOnlyFilesystem', say`its file system is read-only`],
  tooManyConnections: ['TooManyConnections', say`all of its connections are taken`],
}

/** The last probe of a server that ended since says nothing. */
function analyseProbe({ name, observation }: HeardView, { expected }: AnalysisInput): readonly Analysis[] {
  const found = observation.process === 'running' ? probeFindings[observation.probe] : null
  if (found === null) return []
  const [code, what] = found
  const isPrimary = name === expected.primary
  const detail = observation.probeDetail === '' ? '' : say` (${heard(observation.probeDetail)})`
  const sentence = say`${isPrimary ? say`primary` : say`replica`} ${name}: ${what}${detail}${spaceOf(observation.freeBytes, code)}`
  return [(isPrimary ? critical : warning)(code, name, sentence)]
}

function spaceOf(freeBytes: number | null, code: AnalysisCode): Said {
  return freeBytes !== null && (code === 'DiskFull' || code === 'LowSpace')
    ? say`; ${mebibytes(freeBytes)} are free`
    : ''
}

function analyseRefusedSettings({ name, observation }: HeardView): readonly Analysis[] {
  const { settingsRefused = '', settingsRolledBack, process } = observation
  if (settingsRefused === '') return []
  const runs = settingsRolledBack
    ? say`it was started with those of its last good start, and stays so`
    : say`it runs on with those of before, and would not start again`
  const state = process === 'running' ? runs : say`it is not started`
  return [
    warning(
      'SettingsRefused',
      name,
      say`${refusesSettings(name, settingsRefused)}; ${state} until that setting is taken out or put right`,
    ),
  ]
}

/** A start may be tried again and again: what the last end said is shown also while the next start is under way. */
function analyseFailedStart({ name, observation }: HeardView, input: AnalysisInput): readonly Analysis[] {
  const { startFailed = '', settingsRefused = '', process, server } = observation
  if (startFailed === '' || settingsRefused !== '' || (process === 'running' && server !== null)) return []
  const isPrimary = name === input.expected.primary
  const sentence = say`mysqld of ${name} does not come up: ${text(startFailed)}; it is started again by itself`
  return [(isPrimary ? critical : warning)('MysqldDoesNotStart', name, sentence)]
}

const mostLacksNamed = 3

/** What is looked at only when it is needed is missing when it is needed. */
function analyseNeeds({ name, observation }: HeardView): readonly Analysis[] {
  const { lacks = [], process } = observation
  if (lacks.length === 0 || process !== 'running') return []
  const named = lacks
    .slice(0, mostLacksNamed)
    .map(({ what, for: whatFor, cure }) => say`${heard(what)} (for ${heard(whatFor)}; ${heard(cure)})`)
  const more = lacks.length - named.length
  return [
    warning(
      'NotReadyForFailover',
      name,
      say`${name} lacks what a failover, a copy or its next start rests upon: ${joined(named, ', ')}${more > 0 ? say` and ${more} more` : ''}`,
    ),
  ]
}

function analyseUnclassified({
  name,
  observation: { unclassifiedSettings: names = [] },
}: HeardView): readonly Analysis[] {
  if (names.length === 0) return []
  const settings = counted(names.length, 'setting')
  const unknown = say`${name} has ${settings} that Regent does not know and a person allowed (allowUnclassified)`
  const those = names.length === 1 ? say`that` : say`them`
  const sentence = say`${unknown}: ${names.join(', ')}; nobody can say whether safety rests on ${those}`
  return [warning('UnclassifiedSettings', name, sentence)]
}

function analyseSettings({ name, observation }: HeardView): readonly Analysis[] {
  const { server, stored } = observation
  if (server === null) return []
  const { foreignTables, persisted, binlogNumber, changedSettings = [] } = server
  const delayed = delaySecondsOf(server.channel)
  const options = (server.channel?.changedOptions ?? []).filter(({ name }) => delayed === 0 || name !== 'SOURCE_DELAY')
  const filtered = server.channel?.filtered === true
  const findings: readonly (readonly [boolean, AnalysisCode, Sentence])[] = [
    [
      filtered || stored.filterSeen,
      'ReplicationFilter',
      say`${name} ${filtered ? say`has` : say`had`} a replication filter: it may lack rows that its GTIDs claim`,
    ],
    [
      stored.opened === true,
      'OpenedByHand',
      say`${name} was open for writes while it was no primary: its GTIDs do not prove that its data are the primary’s, and it counts for nothing until seeded again`,
    ],
    [
      foreignTables.length > 0,
      'ForeignTables',
      say`${name} has tables that are not InnoDB, which no failover or CLONE keeps whole: ${foreignTables.join(', ')}`,
    ],
    [
      persisted.length > 0,
      'PersistedVariables',
      say`${name} has settings persisted that Regent manages: ${persisted.join(', ')}`,
    ],
    [
      changedSettings.length > 0,
      'SettingsChanged',
      say`${name} has settings that another hand changed and its agent puts right: ${described(changedSettings)}`,
    ],
    [
      delayed > 0,
      'ReplicaDelayed',
      say`${name} was told to apply ${delayed} s later than it receives (SOURCE_DELAY); its agent ends that`,
    ],
    [
      options.length > 0,
      'ChannelOptionsChanged',
      say`the replication channel of ${name} has options that another hand changed and its agent puts right: ${described(options)}`,
    ],
    [
      binlogNumber >= highBinlogNumber,
      'BinlogNumberHigh',
      say`${name} writes binlog file number ${binlogNumber}; semi-sync breaks past 999999`,
    ],
  ]
  return findings.filter(([applies]) => applies).map(([, code, sentence]) => warning(code, name, sentence))
}

function described(changed: readonly ChangedSetting[]): Said {
  return joined(
    changed.map(({ name, seen, wanted }) => say`${name} is ${seen || 'empty'}, to be ${wanted || 'empty'}`),
    '; ',
  )
}
