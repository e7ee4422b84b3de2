import { isAbsolute } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'

/** How an S3 server is reached, and as whom. */
export interface S3Options {
  /** `https://host[:port]`; absent: Amazon's own of the region. */
  readonly endpoint?: string | undefined
  /** Absent: `AWS_REGION`, else `us-east-1`. */
  readonly region?: string | undefined
  /** The bucket in the path of requests instead of the host's name. Absent: wherever an endpoint is given. */
  readonly pathStyle?: boolean | undefined
  /** A file of PEM with the authorities that the endpoint's certificate may be of; absent: those of Node.js. */
  readonly caFile?: string | undefined
  /** Absent: the environment's chain. */
  readonly credentials?: S3Credentials | undefined
}

/**
 * `environment`: variables, AWS' files, a web identity, the machine's role, as every tool of AWS finds them. `folder`:
 * files `accessKeyId`, `secretAccessKey` and, where there is one, `sessionToken`, as a mounted Secret has them.
 */
type S3Credentials = { readonly kind: 'environment' } | { readonly kind: 'folder'; readonly folder: string }

/**
 * Gives the options back where they can work, as far as can be told without a request.
 * @throws RegentError `REGENT_BAD_REQUEST`, which never repeats an endpoint with credentials
 */
export function requireS3Options(options: S3Options): S3Options {
  const complaint =
    complaintAboutEndpoint(options) ??
    complaintAboutRegion(options.region) ??
    complaintAboutPath(options.caFile, 'file of authorities of the S3 endpoint') ??
    complaintAboutPath(folderOf(options.credentials), 'folder of the S3 credentials')
  if (complaint !== undefined) throw new RegentError('REGENT_BAD_REQUEST', say`${complaint}.`)
  return options
}

function complaintAboutEndpoint({ endpoint, caFile }: S3Options): Sentence | undefined {
  if (endpoint === undefined) return undefined
  const reason = reasonAgainst(endpoint)
  if (reason !== undefined) return say`The S3 endpoint must be https://host[:port], or http:// without TLS; ${reason}`
  if (caFile !== undefined && /^http:/i.test(endpoint))
    return say`A file of authorities is given for an S3 endpoint without TLS: write https:// in the endpoint, or give no file`
  return undefined
}

function reasonAgainst(endpoint: string): Sentence | undefined {
  if (endpoint.includes('@')) return say`credentials never stand in it: give them by the environment or a Secret`
  if (!/^https?:\/\/[^/]/i.test(endpoint) || !URL.canParse(endpoint)) return say`it is not of that form`
  if (/[?#]/.test(endpoint)) return say`it has parameters, and none are known`
  if (new URL(endpoint).pathname !== '/')
    return say`it has a path: the bucket and the prefix stand in the address of the store`
  return undefined
}

function complaintAboutRegion(region: string | undefined): Sentence | undefined {
  if (region === undefined || /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(region)) return undefined
  return say`The S3 region ${JSON.stringify(region.slice(0, 80))} must have a–z, 0–9 and dashes, such as eu-central-1`
}

function complaintAboutPath(path: string | undefined, what: string): Sentence | undefined {
  if (path === undefined || (isAbsolute(path) && !path.includes('\0'))) return undefined
  return say`The ${what} is ${JSON.stringify(path.slice(0, 80))}, which is no absolute path: write it from / on`
}

const folderOf = (credentials: S3Credentials | undefined) =>
  credentials?.kind === 'folder' ? credentials.folder : undefined
