import { describeError } from '#common/errors/errors.ts'
import { setup } from '../support/prepared-folders/global-setup.ts'
import { preparedMysqld } from '../support/prepared-folders/paths.ts'

/** Plays a campaign with prepared servers; `play` gives the exit status. Wrong options are told before that. */
export async function runCampaign<Options>(
  readOptions: () => Options,
  play: (options: Options) => Promise<number>,
): Promise<void> {
  try {
    const options = readOptions()
    await setup()
    process.env['REGENT_MYSQLD'] = preparedMysqld
    process.exitCode = await play(options)
  } catch (error) {
    console.error(describeError(error))
    // What was interrupted still waits.
    process.exit(1)
  }
}
