import { readFile } from 'node:fs/promises'
import { S3Client } from '@aws-sdk/client-s3'
import { described, RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { credentialsIn } from './s3-credentials.ts'
import type { S3Options } from './s3-options.ts'

export interface S3Timeouts {
  readonly connectMs: number
  /** How long a connection may stand still while an answer is awaited or read. */
  readonly silenceMs: number
}

/** A client that tries each request once: `S3Requests` tries again. */
export async function s3Client(options: S3Options, { connectMs, silenceMs }: S3Timeouts): Promise<S3Client> {
  const { endpoint, credentials, pathStyle = endpoint !== undefined, caFile } = options
  const { AWS_REGION, AWS_DEFAULT_REGION } = process.env
  return new S3Client({
    region: options.region ?? (AWS_REGION || AWS_DEFAULT_REGION || 'us-east-1'),
    forcePathStyle: pathStyle,
    followRegionRedirects: endpoint === undefined,
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials?.kind === 'folder' && { credentials: () => credentialsIn(credentials.folder) }),
    maxAttempts: 1,
    // Sums are computed here while the content passes, and not by the client a second time.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Its waiting connections would not know `caFile`.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: connectMs,
      socketTimeout: silenceMs,
      httpsAgent: { maxSockets: 16, ...(caFile !== undefined && { ca: await authoritiesIn(caFile) }) },
      httpAgent: { maxSockets: 16 },
    },
  })
}

async function authoritiesIn(caFile: string): Promise<string> {
  try {
    const text = await readFile(caFile, 'utf8')
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  } catch (error) {
    throw refusal(say`${caFile} cannot be read: ${described(error)}`)
  }
  throw refusal(say`${caFile} has no certificate in PEM`)
}

const refusal = (reason: Sayable) =>
  new RegentError('REGENT_BACKUP_STORE', say`Authorities of the endpoint of the store of backups: ${reason}.`)

interface Customizable {
  readonly middlewareStack: {
    add(middleware: never, options: { readonly step: 'build' }): void
  }
}

/** The command with headers of ours, which are signed. */
export function withHeaders<Command extends Customizable>(command: Command, headers: Readonly<Record<string, string>>) {
  const middleware =
    (next: (args: { readonly request: unknown }) => unknown) => (args: { readonly request: unknown }) => {
      Object.assign((args.request as { headers: Record<string, string> }).headers, headers)
      return next(args)
    }
  command.middlewareStack.add(middleware as never, { step: 'build' })
  return command
}
