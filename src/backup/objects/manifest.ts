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
  /** The salt gives, with the key, the keys of this backup alone (`keys/data-key.ts`). */
  salt: sha256,
  /**
   * The signature of what `signedText` gives, by one of these keys. A stranger who can write to the store cannot make
   * one.
   */
  signature: sha256,
})
export type Encryption = Shaped<typeof encryptionShape>
const encryption: Shape<Encryption | null> = { anyOf: [{ type: 'null' }, encryptionShape] }

const shape = objectOf({
  /**
   * Encrypted backups have the second version: their signature is of everything. Plain backups have the first version.
   */
  formatVersion: oneOf(formatVersion, signedVersion),
  name: text(1, 64),
  cluster: text(1, 128),
  /** The random identity of the cluster: a cluster restored from this one has another. */
  lineage: matching('^[0-9a-f-]{8,64}$'),
  instance: text(1, 64),
  serverUuid: matching('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
  mysqlVersion: matching('^[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,4}$'),
  /** The record's epoch when the copy ended. */
  epoch: integer(0, 9_999_999_999),
  startedAtMs: moment,
  /**
   * The time when the copy was whole. The newest commit in the copy is not later, though another clock took its time.
   */
  endedAtMs: moment,
  /** When the last part was stored. */
  storedAtMs: moment,
  /**
   * The content of the copy: all of the first set, and nothing outside of the second. The two are the same where nobody
   * wrote.
   */
  gtids: text(0, 16_777_216),
  gtidsAtMost: text(0, 16_777_216),
  /** Bytes of the tar, and bytes in the store. */
  rawBytes: amount,
  storedBytes: amount,
  /** `bytes` lie in the store, `rawBytes` of the tar went in. */
  parts: listOf(
    objectOf({ name: text(1, 64), rawBytes: amount, bytes: integer(1, Number.MAX_SAFE_INTEGER), sha256 }),
    999_999,
  ),
  compression: exactly('zstd'),
  encryption,
  /** The sum of the tar, before compression. */
  sha256,
})

/**
 * The description of a backup. The manifest is written last, and only if absent: where a manifest is, all parts are
 * whole.
 */
export type Manifest = Shaped<typeof shape>

/**
 * All that a restore rests upon. The first version leaves the epoch out, and a chain needs the epoch to tell what was
 * lost with a failover. So a manifest of an older Regent proves no epoch.
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
 * @param at the place where the text was found: a manifest that names another place was put there by somebody else.
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

/** Throws `REGENT_BACKUP_UNUSABLE` where a part as read has another number of bytes, or another sum. */
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
