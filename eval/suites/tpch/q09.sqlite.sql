WITH profits AS (
  SELECT
    n_name AS nation_name,
    CAST(STRFTIME('%Y', o_orderdate) AS INTEGER) AS o_year,
    l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS profit
  FROM part
  JOIN lineitem ON l_partkey = p_partkey
  JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
  JOIN supplier ON s_suppkey = l_suppkey
  JOIN nation ON n_nationkey = s_nationkey
  JOIN orders ON o_orderkey = l_orderkey
  WHERE p_name LIKE '%green%'
)
SELECT
  nation_name,
  o_year,
  SUM(profit) AS sum_profit
FROM profits
GROUP BY nation_name, o_year
ORDER BY nation_name, o_year DESC
