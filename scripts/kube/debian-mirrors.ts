import { describeError } from '#common/errors/errors.ts'
import { readDebianMachine } from '#local/packages/debian-machine.ts'

/**
 * Prints the mirrors of Debian that this machine's apt is set up with, the likeliest first, a line each: address,
 * keyring file or "-", "trusted" or "-".
 */
try {
  for (const { uri, signedBy, trusted } of (await readDebianMachine()).mirrors) {
    const keyring = signedBy?.startsWith('/') === true ? signedBy : '-'
    console.log([uri, keyring, trusted ? 'trusted' : '-'].join(' '))
  }
} catch (error) {
  console.error(describeError(error))
  process.exitCode = 1
}
