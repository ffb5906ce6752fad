sealed interface Shape
data class Square(val side: Int) : Shape
data class Circle(val radius: Int) : Shape
object Nothing : Shape

fun area(shape: Shape): Int = when (shape) {
    is Square -> shape.side * shape.side
    is Circle -> 3 * shape.radius * shape.radius
    Nothing -> 0
}

fun main() {
    println(listOf(Square(3), Circle(2), Nothing).map(::area).sum())
}
