import kotlinx.coroutines.*
import kotlinx.coroutines.channels.*
import kotlinx.coroutines.flow.*
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock

class Refused(val number: Int) : Exception("refused $number")

interface Source {
    suspend fun next(): Int
}

class Counter(private val step: Int) : Source {
    private var value = 0

    override suspend fun next(): Int {
        delay(1)
        value += step
        yield()
        return value
    }
}

/** Suspends and is resumed, several times. */
suspend fun sum(source: Source, times: Int): Int {
    var sum = 0
    for (i in 0 until times) {
        val before = sum
        sum += source.next()
        check(sum > before)
    }
    return sum
}

/** Its last call is the suspending one, so that there is no state machine. */
suspend fun forwards(source: Source): Int = source.next()

suspend fun fails(number: Int): Int {
    delay(1)
    try {
        if (number % 2 == 1) throw Refused(number)
        return number
    } finally {
        withContext(NonCancellable) { delay(1) }
    }
}

fun numbers(): Flow<Int> = flow {
    for (i in 1..5) {
        delay(1)
        emit(i)
    }
}.map { it * it }.filter { it % 2 == 1 }

fun fibonacci() = sequence {
    var pair = 0 to 1
    while (true) {
        yield(pair.first)
        pair = pair.second to pair.first + pair.second
    }
}

suspend fun shared(): Int = coroutineScope {
    val mutex = Mutex()
    var count = 0
    val jobs = List(20) { launch(Dispatchers.Default) { repeat(50) { mutex.withLock { count++ } } } }
    jobs.joinAll()
    count
}

suspend fun piped(): List<String> = coroutineScope {
    val channel = Channel<Int>(2)
    launch {
        for (i in 1..6) channel.send(i)
        channel.close()
    }
    val found = mutableListOf<String>()
    for (i in channel) found += "got $i"
    found
}

suspend fun first(): String = coroutineScope {
    val slow = async { delay(60_000); "slow" }
    val quick = async { delay(1); "quick" }
    select { slow.onAwait { it }; quick.onAwait { it } }.also { slow.cancel() }
}

tailrec suspend fun deep(n: Int, sum: Long = 0): Long = if (n == 0) sum else { if (n % 100 == 0) yield(); deep(n - 1, sum + n) }

fun main() = runBlocking {
    println(sum(Counter(3), 10))
    println(forwards(Counter(7)))
    println((1..6).map { n -> async { runCatching { fails(n) }.fold({ "$it" }, { it.message }) } }.awaitAll())
    println(numbers().toList())
    println(fibonacci().take(20).toList())
    println(shared())
    println(piped())
    println(first())
    println(withTimeoutOrNull(20) { delay(60_000); "late" })
    println(deep(1000))
    println(supervisorScope { val job = async<Int> { fails(3) }; try { job.await() } catch (e: Refused) { -e.number } })
    println(flowOf(1, 2, 3).onEach { if (it == 3) throw Refused(it) }.catch { emit(-1) }.flatMapConcat { flowOf(it, it) }.toList())
}
