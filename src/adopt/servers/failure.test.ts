import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { failureOf } from './failure.ts'

const fails = (code: string, errno?: number) => Object.assign(new Error('it fails'), { code, errno })

describe('A failure says of a server that', () => {
  it.each([
    ['nobody listens', 'refused', fails('ECONNREFUSED', -111)],
    ['mysqld goes', 'refused', fails('ER_SERVER_SHUTDOWN', 1_053)],
    ['nobody answers', 'silent', fails('ETIMEDOUT', -110)],
    ['no road leads there', 'silent', fails('EHOSTUNREACH', -113)],
    ['its network is away', 'silent', fails('ENETUNREACH', -101)],
    ['its name has no address', 'unresolved', fails('ENOTFOUND', -3_008)],
    ['it is full', 'full', fails('ER_CON_COUNT_ERROR', 1_040)],
    ['it refuses the account', 'lockedOut', fails('ER_ACCESS_DENIED_ERROR', 1_045)],
    // It has spoken: whoever took it for dead would have another one lead beside it.
    ['its certificate will not do', 'unasked', fails('HANDSHAKE_SSL_ERROR')],
    ['it speaks no TLS', 'unasked', fails('HANDSHAKE_NO_SSL_SUPPORT')],
    ['it is not understood', 'unasked', fails('PROTOCOL_ERROR')],
    // Nobody has asked it.
    ['this machine has no file left to open', 'unasked', fails('EMFILE', -24)],
    ['its authority cannot be read', 'unasked', fails('ENOENT', -2)],
    ['its password cannot be read', 'unasked', new RegentError('REGENT_BAD_FILE', say`it fails`)],
  ] as const)('%s: %s', (_, reach, error) => {
    expect(failureOf(error)).toMatchObject({ reach, message: 'it fails' })
  })
})
