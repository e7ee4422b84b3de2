import { isIP } from 'node:net'
import { fileURLToPath } from 'node:url'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable, type Sentence } from '#common/sentence/sentence.ts'
import { complaintAboutKey } from './object-key.ts'

/** Where backups lie, as a person writes it. `shown` is for people: no credentials can be in it. */
export type StoreAddress = FolderAddress | BucketAddress

interface FolderAddress {
  readonly kind: 'folder'
  readonly shown: string
  readonly folder: string
}

export interface BucketAddress {
  readonly kind: 's3'
  readonly shown: string
  readonly bucket: string
  /** '' or segments with `/` between them, without one at the end. */
  readonly prefix: string
}

/** The forms of an address, for help and errors. */
const storeForms = 'file:///folder (or /folder alone) or s3://bucket/prefix'

/**
 * Reads one of `storeForms`. Errors repeat nothing that could be a credential.
 * @throws RegentError `REGENT_BAD_REQUEST`
 */
export function parseStoreAddress(text: string): StoreAddress {
  if (/^s3:/i.test(text)) return bucketAt(text)
  if (/^file:/i.test(text)) return folderAt(folderOfUrl(text))
  if (text.startsWith('/')) return folderAt(text)
  if (/^[a-z][a-z0-9+.-]*:/i.test(text)) throw refusal(say`it begins in another way`)
  throw refusal(say`a relative folder has another meaning for each process: write the folder from / on`)
}

function folderOfUrl(text: string): string {
  if (!/^file:\/(?!\/[^/])/i.test(text)) throw refusal(say`a file: address names no host, and its folder begins with /`)
  if (/[?#]/.test(text)) throw refusal(say`a ? or # in the name of a folder is written as %3F or %23`)
  // The URL class would take `/a/../b` together to `/b`.
  if (/\/(\.|%2e){1,2}(\/|$)/i.test(text)) throw refusal(dots)
  try {
    return fileURLToPath(new URL(text))
  } catch {
    throw refusal(say`a % in it is no percent-encoding that a folder can have; write % as %25`)
  }
}

const dots = say`a part of the folder is . or .., write the folder without`

function folderAt(path: string): FolderAddress {
  const parts = path.split('/').filter((part) => part !== '')
  if (parts.length === 0) throw refusal(say`it names no folder below /`)
  if (parts.some((part) => part === '.' || part === '..')) throw refusal(dots)
  if (path.includes('\0')) throw refusal(say`a folder has no zero byte in its name`)
  const folder = `/${parts.join('/')}`
  return { kind: 'folder', shown: folder, folder }
}

function bucketAt(text: string): BucketAddress {
  const [, bucket, rest = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/is.exec(text) ?? []
  if (bucket === undefined) throw refusal(say`after s3: come // and the name of the bucket`)
  if (text.includes('@'))
    throw refusal(say`credentials never stand in an address: give them by the environment or a Secret`)
  if (/[?#]/.test(text)) throw refusal(say`it has parameters, and none are known`)
  const complaint = complaintAboutBucket(bucket)
  if (complaint !== undefined) throw refusal(say`the bucket's name ${complaint}`)
  const prefix = rest.replace(/(?<=[^/])\/$/, '')
  const wrong = prefix === '' ? undefined : complaintAboutPrefix(prefix)
  if (wrong !== undefined) throw refusal(say`the prefix after the bucket cannot be: ${wrong}`)
  return { kind: 's3', shown: prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`, bucket, prefix }
}

/** What is left of S3's 1024 bytes is for keys. */
const longestPrefix = 300

function complaintAboutPrefix(prefix: string): Sentence | undefined {
  if (prefix.length > longestPrefix) return say`it has ${prefix.length} characters, and ${longestPrefix} are possible`
  return complaintAboutKey(prefix)
}

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
function complaintAboutBucket(bucket: string): Sentence | undefined {
  if (bucket.length < 3 || bucket.length > 63) return say`has ${bucket.length} characters, and 3 to 63 are possible`
  if (!/^[a-z0-9.-]+$/.test(bucket)) return say`has other characters than a–z, 0–9, dots and dashes`
  if (!/^[a-z0-9].*[a-z0-9]$/.test(bucket)) return say`begins or ends with a dot or a dash`
  if (/\.[.-]|-\./.test(bucket)) return say`has a dot beside another dot or a dash`
  if (isIP(bucket) !== 0) return say`is an IP address`
  if (/^(xn--|sthree-|amzn-s3-demo-)|(-s3alias|--ol-s3|--x-s3|\.mrap|--table-s3)$/.test(bucket))
    return say`begins or ends with what S3 keeps for itself`
  return undefined
}

function refusal(reason: Sayable): RegentError {
  return new RegentError('REGENT_BAD_REQUEST', say`The address of a store of backups must be ${storeForms}; ${reason}.`)
}
