(defn primes [n]
  (loop [found [] i 2]
    (if (= (count found) n)
      found
      (recur (if (some #(zero? (mod i %)) found) found (conj found i)) (inc i)))))

(defmulti area :shape)
(defmethod area :square [{:keys [side]}] (* side side))
(defmethod area :circle [{:keys [radius]}] (* 3 radius radius))

(println (primes 40))
(println (map area [{:shape :square :side 3} {:shape :circle :radius 2}]))
(println (try (area {:shape :line}) (catch IllegalArgumentException e "no area")))
(println (reduce + (map #(* % %) (filter even? (range 1000)))))
(println @(future (apply + (range 100))))
(shutdown-agents)
