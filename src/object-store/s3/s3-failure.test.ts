import { describe, expect, it } from 'vitest'
import { againAfter, failureOf, sentenceAbout } from './s3-failure.ts'

const named = (name: string, fields: object = {}) => Object.assign(new Error('so it is'), { name, ...fields })
const system = (code: string) => Object.assign(new Error(`connect ${code}`), { code })
const answered = (status: number) => ({ $metadata: { httpStatusCode: status } })

describe('A request to S3 that failed', () => {
  it.each([
    [system('ECONNREFUSED'), 'patiently', /^the endpoint does not answer: .* \(ECONNREFUSED\)$/],
    [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'patiently', /^the endpoint does not answer/],
    [named('TimeoutError'), 'patiently', /^the endpoint does not answer/],
    [named('InternalError', answered(500)), 'patiently', /^the store failed within \(InternalError, HTTP 500\)$/],
    [
      named('SyntaxError', { $response: { statusCode: 502 } }),
      'patiently',
      /^the store failed within \(SyntaxError, HTTP 502\)$/,
    ],
    [named('SlowDown', answered(503)), 'patiently', /^the store has too much to do/],
    [named('NotImplemented', answered(501)), 'never', /^the store said: so it is \(NotImplemented, HTTP 501\)$/],
    [named('SomeStorageFull', answered(507)), 'never', /^the store is full/],
    [named('AccessDenied', answered(403)), 'briefly', /^the credentials do not allow that/],
    [named('Forbidden', answered(403)), 'briefly', /^the credentials do not allow that/],
    [named('CredentialsProviderError'), 'briefly', /^the environment has no credentials for S3/],
    [named('NoSuchBucket', answered(404)), 'never', /^there is no bucket of that name/],
    [
      system('DEPTH_ZERO_SELF_SIGNED_CERT'),
      'never',
      /^the certificate of the endpoint is not trusted: it is of an authority/,
    ],
    [system('CERT_HAS_EXPIRED'), 'never', /^the certificate of the endpoint is not trusted: it has expired/],
    [named('PermanentRedirect', answered(301)), 'never', /^the bucket is in another region/],
    ['thrown text', 'never', /^the store said: thrown text$/],
    [undefined, 'never', /^the store said: undefined$/],
  ])('%s is tried again %s', (error, again, sentence) => {
    const failure = failureOf(error)
    expect(againAfter(failure)).toBe(again)
    expect(sentenceAbout(failure, [])).toMatch(sentence)
  })

  it('repeats nothing of the store in which a credential stands', () => {
    const failure = failureOf(named('Hunter2Error', { message: 'the key hunter2 is odd', ...answered(400) }))
    expect(sentenceAbout(failure, ['', 'hunter2', 'Hunter2'])).toBe('the store refused (HTTP 400)')
  })
})
