import { describeError } from '#common/errors/errors.ts'
import { abbreviated } from '#common/text/words.ts'
import { complaintAboutPeer } from '#common/tls/tls.ts'

/** What is known of a request that failed. */
export interface S3Failure {
  /** S3's code, the system's or TLS'. */
  readonly code: string
  readonly status: number | undefined
  readonly message: string
}

/**
 * Whether the same request may succeed later: `patiently` while the store is away or busy; `briefly` where somebody may
 * be changing something at this moment (credentials that rotate, a clock) or bytes were damaged once.
 */
export type Again = 'patiently' | 'briefly' | 'never'

interface Known {
  readonly again: Again
  readonly sentence: string
}

const away = (sentence: string): Known => ({ again: 'patiently', sentence })
const refused = (sentence: string): Known => ({ again: 'briefly', sentence })
const final = (sentence: string): Known => ({ again: 'never', sentence })

const wrongSecret = refused('the secret does not belong to the access key: give both anew')
const unknownKey = refused('the store does not know the access key: give another, or make its user there')
const oldToken = refused('the session token has expired: give new credentials')
// Our own word about files of credentials: a rotation may be half done.
const unread = refused('the credentials cannot be read')
const stranger = refused(
  'what answers is no S3 server: correct the address of the endpoint, or look at what lies between (a proxy, a page)',
)
const damaged = refused('what arrived at the store is not what was sent: the network between changes bytes')
const full = final('the store is full: give it more space or quota, or let fewer backups be kept')
const elsewhere = final('the bucket is in another region: name its region')
const silent = away('the endpoint does not answer: bring it back, or correct its address')
const cut = away('the connection to the endpoint broke')
const busy = away('the store has too much to do')
const broken = away('the store failed within')
const archived = final('the object lies in an archive class: bring it back from there first')
const locked = final('the object is locked against deletion until its retention ends')

const byCode: Readonly<Record<string, Known>> = {
  NoSuchBucket: final('there is no bucket of that name: make the bucket, or correct the address of the store'),
  NoSuchKey: final('there is no such object any more'),
  NoSuchUpload: final('the store gave up the upload: somebody else ended it'),
  AccessDenied: refused('the credentials do not allow that: allow their user to read, write, list and delete there'),
  AllAccessDisabled: final('the store has disabled this bucket'),
  InvalidAccessKeyId: unknownKey,
  XAdminUserNotFound: unknownKey,
  SignatureDoesNotMatch: wrongSecret,
  ExpiredToken: oldToken,
  InvalidToken: oldToken,
  TokenRefreshRequired: oldToken,
  CredentialsProviderError: refused('the environment has no credentials for S3: give some, or a Secret with them'),
  REGENT_BACKUP_STORE: unread,
  RequestTimeTooSkewed: refused(
    'the clocks of this machine and of the store differ too much: set the one that is wrong',
  ),
  RequestExpired: refused('the clocks of this machine and of the store differ too much: set the one that is wrong'),
  BadDigest: damaged,
  InvalidDigest: damaged,
  IncompleteBody: damaged,
  XAmzContentSHA256Mismatch: damaged,
  XAmzContentChecksumMismatch: damaged,
  InvalidPart: final('the store does not know a part as the store itself confirmed the part'),
  InvalidPartOrder: final('the store does not know the parts in their order'),
  PreconditionFailed: final('the object was replaced meanwhile'),
  ConditionalRequestConflict: away('others write the same object again and again'),
  OperationAborted: away('others change the same bucket'),
  QuotaExceeded: full,
  XMinioStorageFull: full,
  InsufficientStorage: full,
  PermanentRedirect: elsewhere,
  AuthorizationHeaderMalformed: elsewhere,
  IllegalLocationConstraintException: elsewhere,
  InvalidObjectState: archived,
  ObjectLocked: locked,
  InvalidRequestObjectLocked: locked,
  SlowDown: busy,
  RequestTimeout: busy,
  ThrottlingException: busy,
  TooManyRequests: busy,
  ECONNREFUSED: silent,
  ENOTFOUND: away('the name of the endpoint is unknown here: correct its address, or look at the name server'),
  EAI_AGAIN: away('the name server does not answer: bring it back'),
  EHOSTUNREACH: silent,
  ENETUNREACH: silent,
  TimeoutError: silent,
  ETIMEDOUT: silent,
  ECONNRESET: cut,
  EPIPE: cut,
  ECONNABORTED: cut,
  HPE_INVALID_CONSTANT: final('the endpoint does not speak HTTP: correct its address, or write https://'),
  EPROTO: final('the endpoint does not speak TLS: correct its address, or write http://'),
  ERR_SSL_WRONG_VERSION_NUMBER: final('the endpoint does not speak TLS: correct its address, or write http://'),
  ERR_TLS_CERT_ALTNAME_INVALID: final('the certificate of the endpoint is for another name: correct the address'),
  ShortAnswer: cut,
  NoAnswerOfS3: stranger,
  ListCutOff: final('the store cut its list off, and does not say how that goes on: use a server that does'),
  ConditionIgnored: final('the store overwrites what must stay (it ignores If-None-Match): use a server that does not'),
}

const byStatus: Readonly<Record<number, Known>> = {
  401: wrongSecret,
  403: refused('the credentials do not allow that: allow their user to read, write, list and delete there'),
  408: busy,
  429: busy,
  507: full,
}

/**
 * Whether an object was not deleted since its retention or a legal hold lasts. AWS has no code of its own for that
 * (S3 User Guide, "Object Lock considerations").
 */
export function isAboutLock({
  Code = '',
  Message = '',
}: Partial<Record<'Code' | 'Message', string | undefined>>): boolean {
  return byCode[Code] === locked || (Code === 'AccessDenied' && /object lock/i.test(Message))
}

const unknownCalls: ReadonlySet<string> = new Set([
  'NotImplemented',
  'MethodNotAllowed',
  'UnsupportedOperation',
  // A server that takes the call for another one.
  'InvalidArgument',
  'InvalidRequest',
  'MalformedXML',
  'MalformedPOSTRequest',
  // A server that wants a checksum which this client does not send.
  'MissingContentMD5',
])

/**
 * Whether a server refused a call that not every server knows. The caller may do the same with a call that every server
 * knows.
 */
export function isUnknownCall({ code, status }: Pick<S3Failure, 'code' | 'status'>): boolean {
  return unknownCalls.has(code) || status === 405 || status === 501
}

/** The failure in anything that a client of S3 may throw. */
export function failureOf(error: unknown): S3Failure {
  const { name, code, Code, $metadata, $response, cause } = fieldsOf(error)
  const status = [fieldsOf($metadata)['httpStatusCode'], fieldsOf($response)['statusCode']].find(isNumber)
  const words = [code, Code, name, fieldsOf(cause)['code']].filter((word) => typeof word === 'string')
  return { code: words.find((word) => word !== 'Error') ?? '', status, message: describeError(error) }
}

const fieldsOf = (value: unknown) => Object(value) as Partial<Record<string, unknown>>
const isNumber = (value: unknown) => typeof value === 'number'

export function againAfter(failure: S3Failure): Again {
  return known(failure).again
}

/** A request may have done what it was for, and its answer was lost. */
export function mayHaveBeenDone(failure: S3Failure): boolean {
  return againAfter(failure) === 'patiently' || known(failure) === stranger
}

const passing: ReadonlySet<Known> = new Set([wrongSecret, unknownKey, oldToken, unread, stranger])

/**
 * Whether a store that has answered before will do so again: the credentials are no longer, or not yet, those of the
 * store, or another answers in its place. What the credentials may not do is another thing.
 */
export function isPassing(failure: S3Failure): boolean {
  return passing.has(known(failure))
}

/**
 * Gives the fields of an answer back. Throws where there is none: a page of a proxy or of another server is no empty
 * list, and nothing that was stored.
 */
export function requireAnswer<Answer extends object>(answer: Answer): Answer {
  if (Object.entries(answer).some(([field, value]) => field !== '$metadata' && value !== undefined)) return answer
  throw Object.assign(new Error('the answer has no field of S3'), { name: 'NoAnswerOfS3' })
}

/** Throws for an answer with another status: an answer without a field shows by its status alone who gave that. */
export function requireStatus(wanted: number, answer: { readonly $metadata: object }): void {
  if (fieldsOf(answer.$metadata)['httpStatusCode'] === wanted) return
  throw Object.assign(new Error('the answer has not the status of S3'), { name: 'NoAnswerOfS3' })
}

/** Why, in a sentence with what to do, and the code to look for. */
export function sentenceAbout(failure: S3Failure, secrets: readonly string[]): string {
  const { code, status } = failure
  const codes = [code, status === undefined ? '' : `HTTP ${status}`].filter(
    (text) => text !== '' && holdsNone(text, secrets),
  )
  return `${known(failure, secrets).sentence}${codes.length === 0 ? '' : ` (${codes.join(', ')})`}`
}

function known(failure: S3Failure, secrets: readonly string[] = []): Known {
  const { code, status = 0 } = failure
  const peer = complaintAboutPeer(code)
  if (peer !== undefined)
    return final(`the certificate of the endpoint is not trusted: ${String(peer).replace(' (ca.crt)', '')}`)
  if (status === 507) return full
  if (Object.hasOwn(byCode, code)) return byCode[code] ?? broken
  return byStatus[status] ?? unknown(failure, secrets)
}

function unknown({ status = 0, message }: S3Failure, secrets: readonly string[]): Known {
  if (status >= 500 && status !== 501) return broken
  return final(holdsNone(message, secrets) ? `the store said: ${abbreviated(message)}` : 'the store refused')
}

function holdsNone(text: string, secrets: readonly string[]): boolean {
  return !secrets.some((secret) => secret !== '' && text.includes(secret))
}
