import {
  exactly,
  integer,
  listOf,
  matching,
  objectOf,
  oneOf,
  text,
  type Shape,
  type Shaped,
} from '#common/input/shapes.ts'
import { codeOf, described } from '#common/errors/errors.ts'
import { counted, say, type Said } from '#common/sentence/sentence.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { secondOf, type BackupName } from './backup-name.ts'
import { partName } from './object-key.ts'
import { formatVersion, readStored, signedVersion, unusable, writeStored } from './stored-json.ts'

const sha256 = matching('^[0-9a-f]{64}$')
const moment = integer(0, 9_999_999_999_999)
const amount = integer(0, Number.MAX_SAFE_INTEGER)

const encryptionShape = objectOf({
  scheme: exactly('aes-256-gcm'),
  keyId: matching('^[A-Za-z0-9._-]{1,64}$'),
  /** With the key, gives the keys of this backup alone (`keys/data-key.ts`). */
  salt: sha256,
  /** Of what `signedText` gives, by one of these keys: whoever can write to the store makes no such manifest. */
  signature: sha256,
})
export type Encryption = Shaped<typeof encryptionShape>
const encryption: Shape<Encryption | null> = { anyOf: [{ type: 'null' }, encryptionShape] }

const shape = objectOf({
  /** The second one of those that are encrypted: their signature is of everything. A plain one is as before. */
  formatVersion: oneOf(formatVersion, signedVersion),
  name: text(1, 64),
  cluster: text(1, 128),
  /** The random identity of the cluster: a cluster restored from this one has another. */
  lineage: matching('^[0-9a-f-]{8,64}$'),
  instance: text(1, 64),
  serverUuid: matching('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
  mysqlVersion: matching('^[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,4}$'),
  /** Of the record, when the copy ended. */
  epoch: integer(0, 9_999_999_999),
  startedAtMs: moment,
  /** When the copy was whole; not before the newest commit in it, whose time another clock took. */
  endedAtMs: moment,
  /** When the last part was stored. */
  storedAtMs: moment,
  /** What the copy holds: all of the first, and none but of the second. Where nobody wrote, the two are the same. */
  gtids: text(0, 16_777_216),
  gtidsAtMost: text(0, 16_777_216),
  /** Of the tar, and of what lies in the store. */
  rawBytes: amount,
  storedBytes: amount,
  /** `bytes` lie in the store, `rawBytes` of the tar went in. */
  parts: listOf(
    objectOf({ name: text(1, 64), rawBytes: amount, bytes: integer(1, Number.MAX_SAFE_INTEGER), sha256 }),
    999_999,
  ),
  compression: exactly('zstd'),
  encryption,
  /** Of the tar, before it was compressed. */
  sha256,
})

/** What a backup is. Written last, and only if absent: where it is, all parts are whole. */
export type Manifest = Shaped<typeof shape>

/**
 * All that a restore rests upon. The first version leaves the epoch out, by which a chain tells what was lost with a
 * failover: so a manifest of an older Regent proves no epoch.
 */
export function signedText(manifest: Omit<Manifest, 'encryption'>): string {
  const { name, cluster, lineage, serverUuid, mysqlVersion, gtids, gtidsAtMost, endedAtMs, rawBytes, parts } = manifest
  const { epoch, instance, startedAtMs, storedAtMs, storedBytes, compression } = manifest
  const sums = parts.map((part) => [part.rawBytes, part.bytes, part.sha256])
  const whose = [manifest.formatVersion, name, cluster, lineage, serverUuid, mysqlVersion]
  const more =
    manifest.formatVersion === formatVersion
      ? []
      : [epoch, instance, startedAtMs, storedAtMs, storedBytes, compression, parts.length]
  return JSON.stringify([...whose, ...more, gtids, gtidsAtMost, endedAtMs, rawBytes, manifest.sha256, ...sums])
}

export function manifestText(manifest: Manifest): string {
  return writeStored(manifest)
}

/**
 * @param at where the text was found: a manifest of another place was put there by somebody else.
 * @throws RegentError `REGENT_NEWER_VERSION` or `REGENT_BACKUP_UNUSABLE`
 */
export function parseManifest(stored: string, at: { readonly cluster: string; readonly name: BackupName }): Manifest {
  const what = say`manifest of ${at.name}`
  const manifest = readStored(stored, shape, what, signedVersion)
  const contradiction = contradictionIn(manifest, at)
  if (contradiction !== '') throw unusable(what, contradiction)
  return manifest
}

function contradictionIn(manifest: Manifest, at: { readonly cluster: string; readonly name: BackupName }): Said {
  const { name, cluster, startedAtMs, endedAtMs, storedAtMs } = manifest
  if (name !== at.name || cluster !== at.cluster) return say`the name in it is ${name} of cluster ${cluster}`
  if (secondOf(name) === null) return say`its name ${name} is not a time such as 20261126T031209Z`
  if (endedAtMs < startedAtMs) return say`its copy ended before it began`
  if (storedAtMs < endedAtMs) return say`it was stored before its copy ended`
  return whyBadGtids(manifest) || whyBadParts(manifest)
}

function whyBadGtids({ gtids, gtidsAtMost }: Manifest): Said {
  try {
    return GtidSet.parse(gtidsAtMost).contains(GtidSet.parse(gtids)) ? '' : say`it holds more than the most it can hold`
  } catch (error) {
    if (codeOf(error) !== 'REGENT_BAD_GTID_SET') throw error
    return say`${described(error)}`
  }
}

function whyBadParts({ parts, storedBytes }: Manifest): Said {
  const stray = parts.findIndex(({ name }, at) => name !== partName(at + 1))
  if (stray !== -1)
    return say`part ${stray + 1} of ${counted(parts.length, 'part')} is named ${parts[stray]?.name ?? ''}`
  const sum = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  return sum === storedBytes ? '' : say`its parts have ${counted(sum, 'byte')}, and ${storedBytes} were stored`
}

/** Throws `REGENT_BACKUP_UNUSABLE` where what was read of a part is another number of bytes, or has another sum. */
export function checkPart(
  manifest: Manifest,
  part: number,
  seen: { readonly bytes: number; readonly sha256: string },
): void {
  const expected = manifest.parts[part - 1]
  const what = say`part ${part} of backup ${manifest.name}`
  if (expected === undefined) throw unusable(what, say`the manifest has ${counted(manifest.parts.length, 'part')}`)
  if (seen.bytes !== expected.bytes)
    throw unusable(what, say`${counted(seen.bytes, 'byte')} came, and the manifest has ${expected.bytes}`)
  if (seen.sha256 !== expected.sha256) throw unusable(what, say`its checksum is another than in the manifest`)
}
